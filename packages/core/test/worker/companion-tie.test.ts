import { describe, expect, test } from "vitest";
import type { ProcessExit } from "../../src/contract/identity.ts";
import {
	noteCompanionLost,
	type TiedCompanion,
	tie,
} from "../../src/worker/companion-loss.ts";
import { EndCause } from "../../src/worker/end-cause.ts";
import type { Worker } from "../../src/worker/worker.ts";
import { readyScene } from "./worker-scenes.ts";

const LOST: ProcessExit = { kind: "code", code: 70 };
const CRASHED: ProcessExit = { kind: "signal", signal: "SIGSEGV" };
const facts = { pid: 9 } as TiedCompanion["facts"];

/** One that ends at some time, or not. */
function companion(fields: Partial<TiedCompanion> = {}): TiedCompanion {
	return {
		facts,
		whenGone: () => () => {},
		endWithin: async () => undefined,
		isEnding: () => false,
		...fields,
	};
}

function workerOf(tied: TiedCompanion | undefined): Worker {
	return { companion: tied, cause: new EndCause() } as unknown as Worker;
}

describe("a worker that ended by itself has lost its companion", () => {
	const ended = { endWithin: async () => CRASHED };

	test("if it says so, and the companion's end is seen soon", async () => {
		const worker = workerOf(companion(ended));
		await noteCompanionLost(worker, LOST);
		expect(worker.cause.reason).toBe("companion_lost");
		expect(worker.cause.verdict).toBe(
			"its companion (pid 9) was ended by SIGSEGV",
		);
	});

	test("if the companion is about to end, whatever the worker says", async () => {
		const worker = workerOf(companion({ ...ended, isEnding: () => true }));
		await noteCompanionLost(worker, CRASHED);
		expect(worker.cause.reason).toBe("companion_lost");
	});

	test("and not if it says so and the companion lives on", async () => {
		const worker = workerOf(companion());
		await noteCompanionLost(worker, LOST);
		expect(worker.cause.reason).toBeUndefined();
	});

	test("and not if neither of them shows it", async () => {
		for (const exit of [
			undefined,
			CRASHED,
			{ kind: "code", code: 1 },
		] as const) {
			const worker = workerOf(companion(ended));
			await noteCompanionLost(worker, exit);
			expect(worker.cause.reason).toBeUndefined();
		}
	});

	test("and not if it was to end, or has none", async () => {
		const asked = workerOf(companion(ended));
		asked.cause.presume("closed");
		await noteCompanionLost(asked, LOST);
		expect(asked.cause.reason).toBe("closed");
		const alone = workerOf(undefined);
		await noteCompanionLost(alone, LOST);
		expect(alone.cause.reason).toBeUndefined();
	});
});

test("the end of a companion is the end of the workers that are tied to it, as long as they live", async () => {
	const ends = new Set<(exit: ProcessExit) => void>();
	const shared = companion({
		whenGone: (action) => {
			ends.add(action);
			return () => void ends.delete(action);
		},
	});
	const { worker, clock, events } = await readyScene();
	tie(worker, shared);
	expect(worker.slot.companion).toBe(facts);
	for (const end of ends) end(CRASHED);
	await clock.advanceUntil(worker.gone);
	expect(events.of("worker.exited")).toMatchObject([
		{ reason: "companion_lost" },
	]);
	expect(events.of("worker.condemned")).toMatchObject([
		{ message: "its companion (pid 9) was ended by SIGSEGV" },
	]);
	await clock.settle();
	expect(ends.size).toBe(0);
});
