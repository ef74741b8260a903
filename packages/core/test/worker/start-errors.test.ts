import { describe, expect, test } from "vitest";
import {
	ForkLost,
	RegistryError,
	StartError,
} from "../../src/contract/errors.ts";
import type { ProcessExit } from "../../src/contract/identity.ts";
import {
	noteCompanionLost,
	noteForkLost,
	noteParentLost,
	type TiedCompanion,
	tie,
} from "../../src/worker/companion-loss.ts";
import { EndCause } from "../../src/worker/end-cause.ts";
import type { Worker } from "../../src/worker/worker.ts";
import {
	asStartError,
	exitedEarly,
	notReady,
	notSpawned,
	withdrawn,
} from "../../src/worker/worker-errors.ts";
import { readyScene } from "./worker-scenes.ts";

test("a start error stays what it is", () => {
	const error = new StartError({
		code: "START_TIMEOUT",
		message: "not ready within 10 ms",
	});
	expect(asStartError(error)).toBe(error);
});

test("whatever else a start threw becomes one, with the thing itself as its cause", () => {
	const full = new RegistryError({
		code: "REGISTRY_FULL",
		message: "the disk is full",
	});
	for (const thrown of [
		full,
		new Error("the disk is full"),
		"the disk is full",
	]) {
		expect(asStartError(thrown)).toMatchObject({
			name: "StartError",
			code: "SPAWN_FAILED",
			ran: "no",
			message: "A worker could not be started: the disk is full",
			cause: thrown,
		});
	}
});

const KILLED: ProcessExit = { kind: "signal", signal: "SIGKILL" };

function workerEnded(cause: EndCause): Worker {
	return { slot: { workerId: "p-0" }, pid: 7, cause } as unknown as Worker;
}

describe("a worker that ended before it was ready", () => {
	test("is said to be killed for a reason only where this program killed it for one", () => {
		const condemned = new EndCause();
		condemned.condemn("starting", "hung", "it is silent");
		const message = (cause: EndCause, exit: ProcessExit): string =>
			exitedEarly(workerEnded(cause), exit).message;
		expect(message(condemned, KILLED)).toBe(
			"Worker p-0 (pid 7) was ended by SIGKILL because it is silent before it was ready.",
		);
		expect(message(new EndCause(), KILLED)).toBe(
			"Worker p-0 (pid 7) was ended by SIGKILL before it was ready.",
		);
		expect(message(condemned, { kind: "signal", signal: "SIGSEGV" })).toBe(
			"Worker p-0 (pid 7) was ended by SIGSEGV before it was ready.",
		);
		expect(message(condemned, { kind: "code", code: 3 })).toBe(
			"Worker p-0 (pid 7) exited with code 3 before it was ready.",
		);
	});

	test.each([
		["closed", "its pool is closing"],
		["recycled", "its pool is smaller now"],
		["restarted", "it is restarted"],
		["parent_lost", "the guard was lost"],
	] as const)(
		"because it was %s was withdrawn, which is no failure",
		(reason, why) => {
			const cause = new EndCause();
			cause.condemn("starting", reason, "the guard was lost");
			for (const error of [
				withdrawn(workerEnded(cause)),
				notReady(new Error("the conversation ended"), workerEnded(cause)),
			])
				expect(error).toMatchObject({
					code: "START_WITHDRAWN",
					message: `Worker p-0 was stopped before it was ready, because ${why}.`,
				});
		},
	);
});

test("a worker without a process was withdrawn if the guard that was to fork it was lost, and could not be started otherwise", () => {
	const slot = { workerId: "p-0" };
	const lost = new EndCause();
	lost.parentLost("the guard was lost");
	const thrown = new Error("no such program");
	expect(notSpawned(thrown, { slot, cause: lost })).toMatchObject({
		code: "START_WITHDRAWN",
	});
	for (const worker of [{ slot }, { slot, cause: new EndCause() }])
		expect(notSpawned(thrown, worker)).toMatchObject({
			code: "SPAWN_FAILED",
			message: "Worker p-0 could not be started: no such program",
			cause: thrown,
		});
	const coded = new RegistryError({
		code: "REGISTRY_FULL",
		message: "the disk is full",
	});
	expect(notSpawned(coded, { slot })).toBe(coded);
});

test.each([
	["preload", "the preloaded parent that had forked it was lost"],
	["guard", "the guard that had forked it was lost"],
] as const)(
	"a worker that ends with the %s that had forked it is not at fault",
	(source, verdict) => {
		const cause = new EndCause();
		noteParentLost({ cause }, { source, isParentLost: true });
		expect([cause.reason, cause.verdict]).toEqual(["parent_lost", verdict]);
	},
);

test("a worker whose parent lives, or that was to end, ends for its own reason", () => {
	const alone = new EndCause();
	for (const isParentLost of [false, undefined])
		noteParentLost({ cause: alone }, { source: "guard", isParentLost });
	expect(alone.reason).toBeUndefined();
	const asked = new EndCause();
	asked.presume("recycled");
	noteParentLost({ cause: asked }, { source: "guard", isParentLost: true });
	noteForkLost({ cause: asked }, new ForkLost("ls", "guard", new Error("x")));
	expect(asked.reason).toBe("recycled");
});

test("a worker that the guard did not fork any more is not at fault; any other failed fork is its own", () => {
	const lost = new EndCause();
	noteForkLost({ cause: lost }, new ForkLost("ls", "guard", new Error("gone")));
	expect([lost.reason, lost.verdict]).toEqual([
		"parent_lost",
		"the guard was lost before it had forked it",
	]);
	const failed = new EndCause();
	for (const error of [
		new ForkLost("ls", "preload", new Error("gone")),
		new Error("no such program"),
	])
		noteForkLost({ cause: failed }, error);
	expect(failed.reason).toBeUndefined();
});

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
