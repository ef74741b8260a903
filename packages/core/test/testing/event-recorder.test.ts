import { describe, expect, test } from "vitest";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import { EventRecorder } from "../../src/testing.ts";

const worker = { pool: "p", workerId: "p-0", incarnation: "r-1", wallMs: 0 };
const call = { pool: "p", callId: "c-1", command: "echo", wallMs: 0 };
const starting: SnakepitEvent = {
	type: "worker.starting",
	...worker,
	attempt: 1,
	replaces: undefined,
};
const startFailed: SnakepitEvent = {
	type: "worker.start_failed",
	...worker,
	error: new Error("no"),
};
const accepted: SnakepitEvent = { type: "call.accepted", ...call, queued: 0 };
const settled: SnakepitEvent = {
	type: "call.settled",
	...call,
	outcome: "succeeded",
	code: undefined,
	message: undefined,
	ran: undefined,
	remote: undefined,
	attempts: 1,
	attemptDetails: [],
	traceId: undefined,
	totalMs: 1,
};

function recorded(...events: readonly SnakepitEvent[]): EventRecorder {
	const recorder = new EventRecorder();
	for (const event of events) recorder.record(event);
	return recorder;
}

test("types are in the order in which they happened", () => {
	const recorder = recorded(accepted, starting, settled);
	expect(recorder.types()).toEqual([
		"call.accepted",
		"worker.starting",
		"call.settled",
	]);
});

describe("waiting", () => {
	test("waitFor finds what happened before, next only what happens from now on", async () => {
		const recorder = recorded(accepted);
		expect(await recorder.waitFor("call.accepted")).toBe(accepted);
		const later = recorder.next("call.accepted");
		const another: SnakepitEvent = {
			...call,
			type: "call.accepted",
			callId: "c-2",
			queued: 0,
		};
		recorder.record(another);
		expect(await later).toBe(another);
	});

	test("an event that does not fit is passed over", async () => {
		const recorder = new EventRecorder();
		const fitting = recorder.waitFor(
			"call.accepted",
			({ queued }) => queued === 7,
		);
		recorder.record(accepted);
		recorder.record({ ...call, type: "call.accepted", queued: 7 });
		expect(await fitting).toMatchObject({ queued: 7 });
	});

	test("after the deadline it rejects with everything that was seen", async () => {
		const recorder = recorded(accepted, startFailed);
		await expect(
			recorder.waitFor("call.settled", undefined, 1),
		).rejects.toThrow(
			/No call\.settled that fits within 1 ms[\s\S]*"callId":"c-1"[\s\S]*"error":"Error: no"/,
		);
	});

	test("a predicate that throws rejects the wait and cannot hurt the emitter", async () => {
		const recorder = new EventRecorder();
		const wait = recorder.waitFor("call.accepted", () => {
			throw new Error("bad predicate");
		});
		recorder.record(accepted);
		await expect(wait).rejects.toThrow("bad predicate");
	});
});

describe("what lasts has one start and exactly one end", () => {
	const pairs = [
		{ start: accepted, end: settled },
		{ start: starting, end: startFailed },
	];

	test.each(pairs)("$start.type and its end", ({ start, end }) => {
		recorded(start, end).assertPaired();
		recorded(start, end, start, end).assertPaired();
		expect(() => recorded(start).assertPaired()).toThrow(
			`${start.type} without ${end.type.split(".")[0]}.`,
		);
		expect(() => recorded(end).assertPaired()).toThrow(
			`${end.type} without ${start.type}`,
		);
		expect(() => recorded(start, end, end).assertPaired()).toThrow(
			"a second end",
		);
		expect(() => recorded(start, start, end).assertPaired()).toThrow(
			`${start.type} twice`,
		);
	});
});
