import type { RunHistory } from "@snakepit/core/inspect";
import { expect, test } from "vitest";
import {
	incidentLines,
	incidentsOf,
	runStatus,
	verdictOn,
} from "../../src/runs/runs-commands.ts";

/** A run whose host has the pid 1, and its workers those after it. */
function run(
	statuses: readonly ("active" | "ended" | "reserved")[],
	endedAt?: number,
): RunHistory {
	const identity = (pid: number) => ({ pid });
	return {
		runId: "abcdefg",
		owner: identity(1),
		startedAt: 1_000,
		endedAt,
		workers: statuses.map((status, index) => ({
			workerId: `w-${index}`,
			pool: "p",
			status,
			reservedAt: 1_100,
			activatedAt: status === "reserved" ? undefined : 1_200,
			identity: status === "reserved" ? undefined : identity(index + 2),
		})),
	} as unknown as RunHistory;
}

const alive =
	(...pids: readonly number[]) =>
	({ pid }: { readonly pid: number }) =>
		pids.includes(pid);
const conditions = (history: RunHistory, ...pids: readonly number[]) => {
	const { condition, workers } = runStatus(history, alive(...pids));
	return [condition, ...workers.map((worker) => worker.condition)];
};

test("what lives is judged by the processes, not by what was recorded", () => {
	const open = run(["active", "active", "reserved", "ended"]);
	expect(conditions(open, 1, 2, 3)).toEqual([
		"lives",
		"lives",
		"lives",
		"starting",
		"ended",
	]);
	expect(conditions(open, 1, 3)).toEqual([
		"lives",
		"ended",
		"lives",
		"starting",
		"ended",
	]);
	expect(conditions(open)).toEqual([
		"dead",
		"ended",
		"ended",
		"ended",
		"ended",
	]);
	expect(conditions(open, 2)).toEqual([
		"dead",
		"left",
		"ended",
		"ended",
		"ended",
	]);
	expect(conditions(run(["ended"], 2_000))).toEqual(["ended", "ended"]);
	// It could not be killed when the run was settled.
	expect(conditions(run(["active"], 2_000), 2)).toEqual(["ended", "left"]);
});

test("a worker began when it was started, or, until then, when its place was reserved", () => {
	const { workers } = runStatus(run(["active", "reserved"]), alive(1, 2));
	expect(workers.map(({ startedAt }) => startedAt)).toEqual([1_200, 1_100]);
});

test.each([
	[[], true, "No run is alive."],
	[
		[runStatus(run(["active"]), alive(1, 2))],
		true,
		"1 run is alive with 1 worker.",
	],
	[
		[runStatus(run(["active"]), alive(1, 2)), runStatus(run([]), alive(1))],
		true,
		"2 runs are alive with 1 worker.",
	],
	[
		[runStatus(run(["active"]), alive())],
		true,
		"No run is alive; 1 host ended without closing its run, and no worker is left; snakepit reap also ends what workers had started.",
	],
	[
		[runStatus(run(["active", "active"]), alive(2, 3))],
		false,
		"No run is alive; 2 workers of dead hosts are left; the next program that starts ends them, and so does snakepit reap.",
	],
])("the verdict on %j", (runs, isGood, text) => {
	expect(verdictOn(runs)).toEqual({ isGood, text });
});

test("what takes no calls is none of the workers in the verdict, and is seen all the same", () => {
	const open = run(["active", "active", "active"]);
	const named = ["p-0", "p-companion", "p-preload"];
	const workers = open.workers.map((worker, index) => ({
		...worker,
		workerId: named[index] ?? "",
	}));
	const looked = runStatus({ ...open, workers }, alive(1, 2, 3, 4));
	expect(looked.workers).toHaveLength(3);
	expect(verdictOn([looked]).text).toBe("1 run is alive with 1 worker.");
});

const worker = (reason: string, end: object = {}) => ({
	workerId: "w-1",
	pool: "p",
	identity: { pid: 7 },
	endedAt: 5,
	end: { reason, killer: "none", exit: undefined, ...end },
});

/** The incidents of a run with these workers and incidents. */
function incidents(run: object) {
	return incidentsOf({
		...{ runId: "abcdefg", workers: [], incidents: [], clean: true, killed: 0 },
		...{ state: "terminated", owner: { pid: 1 }, acts: [] },
		...run,
	} as unknown as RunHistory);
}

function texts(run: object): readonly string[] {
	return incidents(run).map(({ text }) => text);
}

test("a worker that ended in order is not an incident; any other end is, with how it ended and what ended it", () => {
	expect(texts({ workers: [worker("closed"), worker("recycled")] })).toEqual(
		[],
	);
	expect(
		texts({
			workers: [
				worker("exited", { exit: { kind: "code", code: 3 } }),
				worker("exited", {
					exit: { kind: "signal", signal: "SIGKILL" },
					killer: "unknown",
					lastCommand: "mean",
				}),
				worker("parent_lost", {
					exit: { kind: "signal", signal: "SIGKILL" },
					killer: "guard",
				}),
				{ ...worker("exited"), end: undefined },
			],
		}),
	).toEqual([
		"w-1 (pid 7) ended with status 3: exited",
		"w-1 (pid 7) ended by SIGKILL: exited, it is not known by whom; its last call was mean",
		"w-1 (pid 7) ended by SIGKILL: parent lost, ended by the loss of its guard",
	]);
});

test("the last lines of a worker are shown without their colours", () => {
	const tail = ["first", "\u001b[31mred"];
	expect(incidents({ workers: [worker("exited", { tail })] })).toMatchObject([
		{ lines: ["first", "red"] },
	]);
});

test("lines that begin between two paragraphs begin with words", () => {
	const tail = ["", " ", "Current thread", "", "Extension modules"];
	expect(incidents({ workers: [worker("exited", { tail })] })).toMatchObject([
		{ lines: tail.slice(2) },
	]);
	expect(
		incidents({ workers: [worker("exited", { tail: [""] })] }),
	).toMatchObject([{ lines: [] }]);
});

test("what a protection did, and the end of a host, are incidents", () => {
	expect(
		texts({
			incidents: [
				{
					...{ type: "protection.process_killed", wallMs: 3, ofRun: "abcdefg" },
					...{ protection: "guard", pid: 9, foundBy: "group" },
				},
			],
			...{ clean: false, endedAt: 8, endedBy: "reaper:bcdefgh", killed: 2 },
		}),
	).toEqual([
		"protection guard ended pid 9, found by group",
		"died. Its program is gone and recorded no end: SIGKILL, a crash in native code, or process.abort(). Cleaned up by the start of run bcdefgh: 2 processes had to be killed.",
	]);
});

test("the death of a host has the time at which a protection saw it, else that of the clean-up", () => {
	const died = { clean: false, endedAt: 8, endedBy: "reaper:bcdefgh" };
	const seen = {
		...{ type: "protection.host_death_detected", wallMs: 4 },
		protection: "guard",
	};
	expect(incidents(died).at(-1)).toMatchObject({ wallMs: 8 });
	expect(incidents({ ...died, incidents: [seen] }).at(-1)).toMatchObject({
		...{ wallMs: 4, text: expect.stringMatching(/^died\./) },
	});
});

function incident(text: string, lines: readonly string[] = []) {
	return { wallMs: undefined, runId: "abcdefg", text, lines };
}

test("without incidents there is one sentence", () => {
	expect(incidentLines([], false)).toEqual([
		"No worker and no host ended unexpectedly.",
	]);
});

test("a row has the last line of output, or all lines follow it", () => {
	const found = [incident("crashed", ["one", "two"]), incident("killed")];
	expect(incidentLines(found, false)).toEqual([
		"TIME     RUN      WHAT",
		"unknown  abcdefg  crashed; last line: two",
		"unknown  abcdefg  killed",
	]);
	expect(incidentLines(found, true).slice(1)).toEqual([
		"unknown  abcdefg  crashed",
		"    one",
		"    two",
		"unknown  abcdefg  killed",
	]);
});

test("50 are shown, and a line says how many older ones there are", () => {
	const found = Array.from({ length: 52 }, (_, index) =>
		incident(`number ${index}`),
	);
	expect(incidentLines(found.slice(0, 50), false)).toHaveLength(51);
	const lines = incidentLines(found, false);
	expect(lines).toHaveLength(52);
	expect(lines.at(-2)).toMatch(/ number 49$/);
	expect(lines.at(-1)).toBe(
		"2 older incidents are not shown. All of them: snakepit incidents --json",
	);
});
