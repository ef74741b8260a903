import { ConnectionBrokenError } from "@snakepit/core/adapter";
import { expect, test, vi } from "vitest";
import { encodeValue } from "../../src/index.ts";
import { call, failureOf, streamOf } from "../support/calls.ts";
import { FakeWorker } from "../support/fake-worker.ts";

test.each<[string, (worker: FakeWorker) => void]>([
	[
		"bytes that are no frame",
		(worker) => worker.frame(new Uint8Array([0xff, 0xff, 0xff])),
	],
	[
		"a frame of a kind that is not known",
		(worker) => worker.frame(new Uint8Array([0xfa, 0x01, 0x00])),
	],
	["an empty frame", (worker) => worker.frame(new Uint8Array())],
	["a chunk for a call with one result", (worker) => worker.chunk(1, "x")],
	["an end for a call with one result", (worker) => worker.end(1)],
	[
		"input credit for a call without input",
		(worker) => worker.say({ kind: "inputCredit", callId: 1, chunks: 1 }),
	],
	[
		"progress of a call that asked for none",
		(worker) =>
			worker.say({
				kind: "progress",
				callId: 1,
				fraction: 0.5,
				message: "",
			}),
	],
	["a result for a stream", (worker) => worker.result(2, "x")],
	[
		"more chunks than there is credit",
		(worker) => {
			for (let i = 0; i < 5; i++) worker.chunk(2, i);
		},
	],
])(
	"%s breaks the conversation, once, and every call rejects",
	async (_, misbehave) => {
		const worker = new FakeWorker({ streamCredit: 4 });
		const result = failureOf(call(worker.conversation, "one"));
		const stream = streamOf(worker.conversation, "two");
		const first = stream.next();
		misbehave(worker);
		worker.hangUp(new Error("and then the channel broke"));
		expect(await result).toBeInstanceOf(ConnectionBrokenError);
		expect(await result).toMatchObject({ ran: "maybe" });
		const drained = (async () => {
			let step = await first;
			while (!step.done) step = await stream.next();
		})();
		expect(await failureOf(drained)).toBeInstanceOf(ConnectionBrokenError);
		expect(worker.brokenBy).toHaveLength(1);
		expect(worker.brokenBy[0]?.message).toContain("fake-0");
		expect(worker.closed).toBe(true);
		expect(await failureOf(call(worker.conversation, "three"))).toMatchObject({
			code: "CONNECTION_BROKEN",
			ran: "no",
		});
	},
);

test("a stream that the worker ends without being asked breaks the conversation", async () => {
	const worker = new FakeWorker();
	const result = failureOf(call(worker.conversation, "one"));
	worker.hangUp();
	expect(await result).toBeInstanceOf(ConnectionBrokenError);
	expect(worker.brokenBy).toHaveLength(1);
});

test("frames about calls that are over or were never made are dropped", async () => {
	const worker = new FakeWorker();
	const result = call(worker.conversation, "one");
	worker.result(1, "first");
	worker.result(1, "second");
	worker.chunk(1, "late");
	worker.end(1);
	worker.fail(1);
	worker.result(99, "nobody's");
	worker.say({
		kind: "hostCall",
		hostCallId: 1,
		callId: 1,
		function: "f",
		argument: new Uint8Array(),
		traceContext: {},
	});
	worker.say({ kind: "hostCallCancel", hostCallId: 7 });
	expect(await result).toBe("first");
	expect(worker.brokenBy).toEqual([]);
	expect(worker.all("hostFailure")).toEqual([]);
});

test("the error of a tool says that the result of a host function cannot be sent, not its argument", async () => {
	const worker = new FakeWorker({
		hostFunctions: { f: () => ({ done: [() => 1] }) },
	});
	const result = call(worker.conversation, "one");
	worker.say({
		kind: "hostCall",
		hostCallId: 1,
		callId: 1,
		function: "f",
		argument: encodeValue({ done: [1] }),
		traceContext: {},
	});
	await vi.waitFor(() => expect(worker.all("hostFailure")).toHaveLength(1));
	expect(worker.all("hostFailure")[0]).toMatchObject({
		code: "VALUE_NOT_TRANSFERABLE",
		message: expect.stringMatching(/^its result: \$\.done\[0\] is a function/),
	});
	worker.result(1, "fine");
	expect(await result).toBe("fine");
});

test("an invalid result fails only its own call", async () => {
	const worker = new FakeWorker();
	const bad = failureOf(call(worker.conversation, "one"));
	const good = call(worker.conversation, "two");
	worker.say({
		kind: "result",
		callId: 1,
		beganUs: undefined,
		ranUs: undefined,
		value: new Uint8Array([0xc1]),
		attachment: undefined,
		argumentsFree: false,
	});
	worker.result(2, "fine");
	expect(await bad).toMatchObject({
		code: "VALUE_NOT_TRANSFERABLE",
		ran: "maybe",
	});
	expect(await good).toBe("fine");
	expect(worker.brokenBy).toEqual([]);
});

test("an invalid chunk cancels its stream, which fails when the worker has finished it", async () => {
	const worker = new FakeWorker();
	const stream = streamOf(worker.conversation, "one");
	const first = failureOf(stream.next());
	worker.say({
		kind: "chunk",
		callId: 1,
		value: new Uint8Array([0xc1]),
		attachment: undefined,
	});
	expect(worker.all("cancel")).toHaveLength(1);
	worker.fail(1, "CANCELLED");
	expect(await first).toMatchObject({ code: "VALUE_NOT_TRANSFERABLE" });
});

test("what is closed by this program is not broken", async () => {
	const worker = new FakeWorker();
	const result = failureOf(call(worker.conversation, "one"));
	await worker.conversation[Symbol.asyncDispose]();
	await worker.conversation[Symbol.asyncDispose]();
	expect(await result).toBeInstanceOf(ConnectionBrokenError);
	expect(worker.brokenBy).toEqual([]);
	expect(worker.closed).toBe(true);
});
