import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	stepWorker,
	WORKER_TABLE,
	type WorkerOccurrence,
	type WorkerState,
} from "../../src/contract/states.ts";

/** Every cell, written out: the next state with its effects, `stay`, or `impossible`. */
const CELLS: Readonly<
	Record<WorkerState, Readonly<Record<WorkerOccurrence, string>>>
> = {
	starting: {
		became_ready: "ready: offer_capacity",
		start_failed: "stopping: force_stop",
		retire: "stopping: force_stop",
		drained: "impossible",
		condemn: "stopping: force_stop",
		conversation_over: "stopping: force_stop",
		process_exited: "exited: release",
	},
	ready: {
		became_ready: "impossible",
		start_failed: "impossible",
		retire: "draining: withdraw_capacity",
		drained: "stay",
		condemn: "stopping: withdraw_capacity, force_stop",
		conversation_over: "stopping: withdraw_capacity, force_stop",
		process_exited: "exited: withdraw_capacity, release",
	},
	draining: {
		became_ready: "impossible",
		start_failed: "impossible",
		retire: "stay",
		drained: "stopping: begin_stop",
		condemn: "stopping: force_stop",
		conversation_over: "stopping: force_stop",
		process_exited: "exited: release",
	},
	stopping: {
		became_ready: "stay",
		start_failed: "stay",
		retire: "stay",
		drained: "stay",
		condemn: "stopping: force_stop",
		conversation_over: "stay",
		process_exited: "exited: release",
	},
	exited: {
		became_ready: "stay",
		start_failed: "stay",
		retire: "stay",
		drained: "stay",
		condemn: "stay",
		conversation_over: "stay",
		process_exited: "impossible",
	},
};

const cells = Object.entries(CELLS).flatMap(([state, row]) =>
	Object.entries(row).map(([occurrence, outcome]) => ({
		state: state as WorkerState,
		occurrence: occurrence as WorkerOccurrence,
		outcome,
	})),
);
const occurrences = Object.keys(CELLS.starting) as WorkerOccurrence[];

describe("the life of a worker", () => {
	test("the table has these cells and no other", () => {
		const shape = (table: object): unknown =>
			Object.entries(table).map(([state, row]) => [state, Object.keys(row)]);
		expect(shape(WORKER_TABLE)).toEqual(shape(CELLS));
	});

	test.each(cells)(
		"$state, $occurrence: $outcome",
		({ state, occurrence, outcome }) => {
			const step = stepWorker(state, occurrence);
			const words =
				step.kind === "move"
					? `${step.to}: ${step.effects.join(", ")}`
					: step.kind;
			expect(words).toBe(outcome);
		},
	);

	test("whatever happens, capacity is offered once and withdrawn once, and the worker is released exactly at its exit", () => {
		fc.assert(
			fc.property(
				fc.array(fc.constantFrom(...occurrences), { maxLength: 30 }),
				(story) => {
					let state: WorkerState = "starting";
					const effects: string[] = [];
					for (const occurrence of story) {
						const step = stepWorker(state, occurrence);
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

	test("a worker that has to end is always stopped", () => {
		for (const state of [
			"starting",
			"ready",
			"draining",
			"stopping",
		] as const) {
			const step = stepWorker(state, "condemn");
			expect(step).toMatchObject({
				kind: "move",
				to: "stopping",
				effects: expect.arrayContaining(["force_stop"]),
			});
		}
	});
});
