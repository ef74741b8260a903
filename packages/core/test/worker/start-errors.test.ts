import { describe, expect, test } from "vitest";
import { RegistryError, StartError } from "../../src/contract/errors.ts";
import type { ProcessExit } from "../../src/contract/identity.ts";
import { EndCause } from "../../src/worker/end-cause.ts";
import type { Worker } from "../../src/worker/worker.ts";
import {
	asStartError,
	exitedEarly,
	notReady,
	notSpawned,
	withdrawn,
} from "../../src/worker/worker-errors.ts";

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
