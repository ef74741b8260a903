import type { WorkerView } from "@snakepit/core";
import { expect, test } from "vitest";
import { chooseVictim } from "../src/kill-one-worker.ts";

const view = (given: Partial<WorkerView>): WorkerView => ({
	workerId: "digits-0",
	incarnation: "r-1",
	pid: 41,
	state: "ready",
	callsRunning: 0,
	callsTaken: 0,
	readyMs: 0,
	heartbeat: undefined,
	...given,
});

test("the victim is a worker in the middle of a call", () => {
	const victim = chooseVictim([
		view({ pid: 41, state: "starting", callsRunning: 1 }),
		view({ pid: 42 }),
		view({ pid: 43, callsRunning: 1 }),
	]);
	expect(victim?.pid).toBe(43);
});

test("where none runs a call any that is ready will do, and where none is ready there is none", () => {
	expect(chooseVictim([view({ pid: 42 })])?.pid).toBe(42);
	expect(chooseVictim([view({ state: "draining" })])).toBeUndefined();
});
