import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	nextRunState,
	RUN_TRANSITIONS,
	type RunState,
	stepWorker,
	WORKER_TABLE,
	type WorkerState,
	type WorkerTrigger,
} from "../../src/contract/run-and-worker-states.ts";

describe("the life of a run", () => {
	const states = Object.keys(RUN_TRANSITIONS) as RunState[];

	test("takes the steps of its table, and refuses any other", () => {
		for (const from of states)
			for (const to of states)
				if (RUN_TRANSITIONS[from].includes(to))
					expect(nextRunState(from, to)).toBe(to);
				else
					expect(() => nextRunState(from, to)).toThrow(
						`from ${from} to ${to}. This is a defect`,
					);
	});

	test("from every state there is a way to the end, and no way leads back", () => {
		const reachable = (from: RunState): Set<RunState> =>
			new Set(RUN_TRANSITIONS[from].flatMap((to) => [to, ...reachable(to)]));
		for (const state of states) {
			expect(reachable(state)).not.toContain(state);
			if (state !== "terminated")
				expect(reachable(state)).toContain("terminated");
		}
	});
});

// That a worker follows its table is tested in worker/worker-table.test.ts.
describe("the life of a worker", () => {
	const triggers = Object.keys(WORKER_TABLE.starting) as WorkerTrigger[];

	test("whatever happens, capacity is offered once and withdrawn once, and the worker is released exactly at its exit", () => {
		fc.assert(
			fc.property(
				fc.array(fc.constantFrom(...triggers), { maxLength: 30 }),
				(story) => {
					let state: WorkerState = "starting";
					const effects: string[] = [];
					for (const trigger of story) {
						const step = stepWorker(state, trigger);
						if (step.kind !== "move") continue;
						state = step.to;
						effects.push(...step.effects);
					}
					const count = (effect: string): number =>
						effects.filter((each) => each === effect).length;
					expect(count("offer_capacity") - count("withdraw_capacity")).toBe(
						state === "ready" ? 1 : 0,
					);
					expect(count("offer_capacity")).toBeLessThanOrEqual(1);
					expect(count("release")).toBe(state === "exited" ? 1 : 0);
				},
			),
		);
	});

	test.each(["starting", "ready", "draining", "stopping"] as const)(
		"a worker that is %s and has to end is stopped",
		(state) => {
			expect(stepWorker(state, "condemn")).toMatchObject({
				kind: "move",
				to: "stopping",
				effects: expect.arrayContaining(["force_stop"]),
			});
		},
	);
});
