import type { RunHistory } from "@snakepit/core/inspect";
import { expect, test } from "vitest";
import { seen, verdictOn } from "../../src/runs/runs-commands.ts";

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
	const { condition, workers } = seen(history, alive(...pids));
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
	const { workers } = seen(run(["active", "reserved"]), alive(1, 2));
	expect(workers.map(({ startedAt }) => startedAt)).toEqual([1_200, 1_100]);
});

test.each([
	[[], true, "No run is alive."],
	[[seen(run(["active"]), alive(1, 2))], true, "1 run is alive with 1 worker."],
	[
		[seen(run(["active"]), alive(1, 2)), seen(run([]), alive(1))],
		true,
		"2 runs are alive with 1 worker.",
	],
	[
		[seen(run(["active"]), alive())],
		true,
		"No run is alive; 1 host ended without closing its run, and no worker is left; snakepit reap also ends what workers had started.",
	],
	[
		[seen(run(["active", "active"]), alive(2, 3))],
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
	const looked = seen({ ...open, workers }, alive(1, 2, 3, 4));
	expect(looked.workers).toHaveLength(3);
	expect(verdictOn([looked]).text).toBe("1 run is alive with 1 worker.");
});
