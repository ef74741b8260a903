import {
	CallAbortedError,
	CallTimeoutError,
	QueueError,
	WorkerLostError,
} from "@snakepit/core";
import { expect, test } from "vitest";
import type { CancelReason } from "../../src/frames/frames.ts";
import { call, failureOf, streamOf } from "../support/calls.ts";
import { FakeWorker } from "../support/fake-worker.ts";

test.each<[string, unknown, CancelReason]>([
	["the caller's own", new Error("x"), "CALLER"],
	["nothing in particular", undefined, "CALLER"],
	[
		"the pool's deadline",
		new CallTimeoutError({ code: "CALL_TIMEOUT", ran: "maybe", message: "" }),
		"DEADLINE",
	],
	["a timeout of the caller", new DOMException("", "TimeoutError"), "DEADLINE"],
	[
		"the pool's end",
		new QueueError({ code: "POOL_CLOSED", ran: "maybe", message: "" }),
		"SHUTDOWN",
	],
])("a cancel carries its reason: %s", async (_, reason, sent) => {
	const worker = new FakeWorker();
	const abort = new AbortController();
	const result = failureOf(
		call(worker.conversation, "one", {}, { signal: abort.signal }),
	);
	abort.abort(reason);
	expect(worker.all("cancel")).toEqual([{ callId: 1, reason: sent }]);
	worker.fail(1, "CANCELLED", { began: true });
	expect(await result).toBeInstanceOf(CallAbortedError);
	expect(await result).toMatchObject({
		ran: "maybe",
		cause: abort.signal.reason,
	});
});

test("a call that is aborted settles only when the worker is done with it", async () => {
	const worker = new FakeWorker();
	const abort = new AbortController();
	let settled = false;
	const result = failureOf(
		call(worker.conversation, "one", {}, { signal: abort.signal }),
	).finally(() => {
		settled = true;
	});
	abort.abort();
	await new Promise(setImmediate);
	expect(settled).toBe(false);
	worker.fail(1, "CANCELLED");
	expect(await result).toMatchObject({ code: "CALL_ABORTED", ran: "no" });
});

test("a result that was under way when the call was aborted is its answer", async () => {
	const worker = new FakeWorker();
	const abort = new AbortController();
	const result = call(worker.conversation, "one", {}, { signal: abort.signal });
	abort.abort();
	worker.result(1, "under way");
	expect(await result).toBe("under way");
});

test("a stream whose end was under way when it was aborted still fails: items were dropped", async () => {
	const worker = new FakeWorker();
	const abort = new AbortController();
	const stream = streamOf(
		worker.conversation,
		"one",
		{},
		{ signal: abort.signal },
	);
	const first = stream.next();
	worker.chunk(1, "a");
	worker.chunk(1, "b");
	expect(await first).toMatchObject({ value: "a" });
	abort.abort();
	worker.chunk(1, "c");
	worker.end(1);
	expect(await failureOf(stream.next())).toBeInstanceOf(CallAbortedError);
});

test.each([
	["refuses calls", "LEAVING", false, "no"],
	["cancels what runs", "CANCELLED", true, "maybe"],
])(
	"a worker that leaves and %s is a lost worker, not an abort",
	async (_, kind, began, ran) => {
		const worker = new FakeWorker();
		const result = failureOf(call(worker.conversation, "one"));
		worker.fail(1, kind as string, { began, message: "leaving" });
		expect(await result).toBeInstanceOf(WorkerLostError);
		expect(await result).toMatchObject({ code: "WORKER_REPLACED", ran });
	},
);

test("credit is half a window at a time, and never more than the window is out", async () => {
	const worker = new FakeWorker({ streamCredit: 4 });
	const stream = streamOf(worker.conversation, "one");
	const first = stream.next();
	expect(worker.all("call")[0]?.streamCredit).toBe(4);
	for (let i = 0; i < 4; i++) worker.chunk(1, i);
	await first;
	expect(worker.all("credit")).toEqual([]);
	await stream.next();
	expect(worker.all("credit")).toEqual([{ callId: 1, chunks: 2 }]);
	await stream.next();
	await stream.next();
	expect(worker.all("credit")).toHaveLength(2);
});

test("small chunks go beyond the credit while together they are small, and are granted many at a time", async () => {
	const worker = new FakeWorker({ streamCredit: 2, smallBytes: 1024 });
	const stream = streamOf(worker.conversation, "one");
	const first = stream.next();
	expect(worker.all("call")[0]?.streamBytes).toBe(1024);
	// Each counts as 256 bytes.
	for (let i = 0; i < 4; i++) worker.chunk(1, i);
	await first;
	expect(worker.all("credit")).toEqual([]);
	await stream.next();
	expect(worker.all("credit")).toEqual([{ callId: 1, chunks: 2 }]);
	worker.chunk(1, new Uint8Array(1024));
	expect(worker.brokenBy).toEqual([]);
	worker.chunk(1, "beyond");
	expect(worker.brokenBy[0]?.message).toContain("beyond the credit");
});

test("large chunks are granted by their number alone", async () => {
	const worker = new FakeWorker({ streamCredit: 2, smallBytes: 1024 });
	const stream = streamOf(worker.conversation, "one");
	const first = stream.next();
	worker.chunk(1, new Uint8Array(1024));
	await first;
	expect(worker.all("credit")).toEqual([{ callId: 1, chunks: 1 }]);
	worker.chunk(1, new Uint8Array(1024));
	worker.chunk(1, new Uint8Array(1024));
	expect(worker.brokenBy).toEqual([]);
	worker.chunk(1, new Uint8Array(1024));
	expect(worker.brokenBy).toHaveLength(1);
});

test("leaving waits for the worker's end, and gives up with its signal", async () => {
	const worker = new FakeWorker();
	const deadline = new AbortController();
	const left = failureOf(worker.conversation.leave(deadline.signal));
	expect(worker.ended).toBe(true);
	deadline.abort(new Error("time limit"));
	expect(await left).toMatchObject({ message: "time limit" });
	const again = worker.conversation.leave(new AbortController().signal);
	worker.hangUp();
	await again;
	expect(worker.brokenBy).toEqual([]);
	expect(await failureOf(call(worker.conversation, "one"))).toMatchObject({
		code: "CONNECTION_BROKEN",
		ran: "no",
	});
});
