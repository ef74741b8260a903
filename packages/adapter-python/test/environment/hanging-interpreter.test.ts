import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { build } from "../../src/environment/builder.ts";
import { failureOf } from "../support/calls.ts";
import { programThatRuns, scratch } from "../support/fake-python.ts";

/** A program that does not notice the end of its standard input, with a child that runs for ever. By default it waits for that. */
function hanging(last = "wait"): {
	readonly program: string;
	pids(): readonly number[];
} {
	const root = scratch();
	const noted = join(root, "pids");
	const program = programThatRuns(
		join(root, "python"),
		`sleep 1000 & echo "$$ $!" > ${noted}.part; mv ${noted}.part ${noted}; ${last}`,
	);
	return {
		program,
		pids: () =>
			existsSync(noted)
				? readFileSync(noted, "utf8").trim().split(" ").map(Number)
				: [],
	};
}

const isThere = (pid: number): boolean => {
	try {
		return process.kill(pid, 0);
	} catch {
		return false;
	}
};

test("an interpreter that never answers is killed with its group when its time is over", async () => {
	const { program, pids } = hanging();
	const order = { directory: join(scratch(), "environment"), install: [] };
	const signal = new AbortController().signal;
	expect(await build(program, order, 2_000, signal)).toMatchObject({
		kind: "failed",
		problem: "not complete within 2000 ms (buildTimeoutMs)",
	});
	expect(pids()).toHaveLength(2);
	await expect
		.poll(() => pids().filter(isThere), { timeout: 30_000 })
		.toEqual([]);
});

test("one that is given up is killed, with the reason of the code that gave it up", async () => {
	const { program, pids } = hanging();
	const order = { directory: join(scratch(), "environment"), install: [] };
	const abort = new AbortController();
	const building = failureOf(build(program, order, 60_000, abort.signal));
	await expect.poll(pids, { timeout: 30_000 }).toHaveLength(2);
	const reason = new Error("the pool is closed");
	abort.abort(reason);
	expect(await building).toBe(reason);
	await expect
		.poll(() => pids().filter(isThere), { timeout: 30_000 })
		.toEqual([]);
});

test("what an interpreter that ended has left in its group is killed, and holds nothing up", async () => {
	const { program, pids } = hanging("exit 3");
	const order = { directory: join(scratch(), "environment"), install: [] };
	const signal = new AbortController().signal;
	expect(await build(program, order, 50_000, signal)).toMatchObject({
		kind: "failed",
		problem: "the builder ended with exit code 3",
	});
	await expect
		.poll(() => pids().filter(isThere), { timeout: 30_000 })
		.toEqual([]);
});
