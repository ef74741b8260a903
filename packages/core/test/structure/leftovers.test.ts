import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import {
	endLeftover,
	type Leftover,
	leftoverOf,
	leftoversAreSeen,
	leftoversOf,
	leftoverText,
	runText,
} from "../../../../scripts/leftovers.ts";
import { TEST, TEST_RUN, testMark } from "../../../../scripts/test-mark.ts";
import type { TableEntry } from "../../src/os/process-table.ts";

const ENTRY: TableEntry = {
	pid: 7,
	parentPid: 1,
	groupId: 5,
	sessionId: 5,
	startTime: "12",
	startedAt: 12,
	condition: "alive",
	cpuTimeMs: 0,
	residentBytes: 0,
	name: "sleep",
};

const decided = (
	variables: Readonly<Record<string, string>>,
	fields: Partial<TableEntry> = {},
): Leftover | undefined =>
	leftoverOf(
		"one",
		{ ...ENTRY, ...fields },
		new Map(Object.entries(variables)),
		"sleep 9",
	);

test("what carries the mark of its run is left of it, and says by which test it was begun", () => {
	const mark = { [TEST_RUN]: "one" };
	const left = { pid: 7, startTime: "12", groupId: 5, command: "sleep 9" };
	expect(decided({ ...mark, [TEST]: "a.test.ts > it" })).toEqual({
		...left,
		test: "a.test.ts > it",
	});
	expect(decided({ ...mark, PYTEST_CURRENT_TEST: "test_a.py::it" })).toEqual({
		...left,
		test: "test_a.py::it",
	});
	expect(decided(mark)).toEqual({ ...left, test: "no test" });
	expect(decided(mark, { condition: "exiting" })).toEqual(decided(mark));
});

test("processes of another run, foreign processes and dead ones are not", () => {
	expect(decided({ [TEST_RUN]: "another" })).toBeUndefined();
	expect(decided({ [TEST_RUN]: "one more" })).toBeUndefined();
	expect(decided({ [TEST]: "a.test.ts > it" })).toBeUndefined();
	expect(decided({})).toBeUndefined();
	expect(
		decided({ [TEST_RUN]: "one" }, { condition: "zombie" }),
	).toBeUndefined();
});

test("processes that a test starts carry its name", () => {
	expect(process.env[TEST]).toBe(
		"packages/core/test/structure/leftovers.test.ts > processes that a test starts carry its name",
	);
	expect(testMark()).toMatchObject({ [TEST]: process.env[TEST] });
});

test.runIf(leftoversAreSeen)(
	"a process that is left is found and ended, another run's is not, nor who has its number",
	async () => {
		const [run, other] = [`a-${process.pid}`, `b-${process.pid}`];
		const start = (mark: string) => {
			const child = spawn("sleep", ["1000"], {
				stdio: "ignore",
				env: { ...process.env, [TEST_RUN]: mark },
			});
			onTestFinished(() => void child.kill("SIGKILL"));
			return child;
		};
		const [ours, theirs] = [start(run), start(other)];
		const exit = once(ours, "exit");
		await Promise.all([once(ours, "spawn"), once(theirs, "spawn")]);

		const left = await leftoversOf(run, 0);
		expect(left).toMatchObject([{ pid: ours.pid, command: "sleep 1000" }]);
		expect(left.map(leftoverText)).toEqual([
			expect.stringContaining(`: sleep 1000\n  begun in ${process.env[TEST]}`),
		]);
		for (const each of left) {
			endLeftover({ ...each, startTime: "1" });
			endLeftover(each);
		}
		expect(await exit).toEqual([null, "SIGKILL"]);
		expect(await leftoversOf(run)).toEqual([]);
		expect(await leftoversOf(other, 0)).toMatchObject([{ pid: theirs.pid }]);
	},
);

test.runIf(leftoversAreSeen)("what is just dying is waited for", async () => {
	const run = `dying-${process.pid}`;
	const child = spawn("sh", ["-c", "read line"], {
		stdio: ["pipe", "ignore", "ignore"],
		env: { ...process.env, [TEST_RUN]: run },
	});
	onTestFinished(() => void child.kill("SIGKILL"));
	await once(child, "spawn");
	const looked = leftoversOf(run);
	child.stdin.end();
	expect(await looked).toEqual([]);
});

test.runIf(leftoversAreSeen)(
	"the processes of a run that hangs are shown with their states",
	async () => {
		const run = `hangs-${process.pid}`;
		const child = spawn("sleep", ["1000"], {
			stdio: "ignore",
			env: { ...process.env, [TEST_RUN]: run },
		});
		onTestFinished(() => void child.kill("SIGKILL"));
		await once(child, "spawn");
		child.kill("SIGSTOP");
		await expect.poll(() => runText(run)).toContain("T (stopped)");
		expect(runText(run)).toContain(`pid ${child.pid}, group`);
	},
);
