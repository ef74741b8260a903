import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../../scripts/test-effort.ts";
import { decodeSignal, MESSAGE_PACK } from "../../src/frames/frame-codec.ts";
import type { HostFrame, WorkerFrame } from "../../src/frames/frames.ts";
import { encodeValue } from "../../src/index.ts";
import {
	decodeHostFrame,
	encodeWorkerFrame,
	failureFrame,
} from "../support/worker-frames.ts";

const bytes = Uint8Array.of(1, 2, 3);
const attachment = { name: "w1", size: 5, offset: 64 };

const OF_WORKER: readonly WorkerFrame[] = [
	{
		kind: "result",
		callId: 2 ** 40,
		beganUs: 7,
		ranUs: 2 ** 32 - 1,
		value: bytes,
		attachment,
		argumentsFree: true,
	},
	{ kind: "chunk", callId: 1, value: bytes, attachment: undefined },
	{
		kind: "end",
		callId: 1,
		value: new Uint8Array(),
		attachment,
		argumentsFree: false,
	},
	failureFrame(1, {
		message: "é",
		began: true,
		path: "$[0]",
		error: {
			type: "ValueError",
			message: "no",
			traceback: "…",
			notes: ["a note"],
			frames: [{ file: "a.py", line: 3, function: "f" }],
			cause: {
				type: "KeyError",
				message: "",
				traceback: "",
				notes: [],
				frames: [],
				cause: undefined,
			},
		},
	}),
	{ kind: "inputCredit", callId: 1, chunks: 8 },
	{
		kind: "hostCall",
		hostCallId: 9,
		callId: 1,
		function: "f",
		argument: bytes,
		traceContext: { traceparent: "00" },
	},
	{ kind: "hostCallCancel", hostCallId: 9 },
	{
		kind: "log",
		callId: 0,
		logger: "a.b",
		level: 30,
		message: "careful",
		timeUs: 1_700_000_000_000_000,
		traceback: "",
		traceId: "a",
		spanId: "b",
		handled: true,
	},
	{ kind: "progress", callId: 1, fraction: 0.5, message: "half" },
	{ kind: "progress", callId: 1, fraction: undefined, message: "" },
	{ kind: "sources", files: ["/a.py"], sinceUs: 5 },
];

const decode = (frame: Uint8Array): WorkerFrame =>
	MESSAGE_PACK.decode(frame, 0, frame.length);

test.each(OF_WORKER.map((frame) => [frame.kind, frame] as const))(
	"a %s is read as it was written, and so is what a later version adds",
	(_, frame) => {
		const written = encodeWorkerFrame(frame);
		expect(decode(written)).toEqual(frame);
		const later = Buffer.from([...written, 0xc0]);
		later.writeUInt8((written[0] as number) + 1);
		expect(decode(later)).toEqual(frame);
	},
);

test.each<HostFrame>([
	{ kind: "cancel", callId: 1, reason: "DEADLINE" },
	{ kind: "credit", callId: 2 ** 40, chunks: 8 },
	{ kind: "input", callId: 1, value: bytes },
	{ kind: "inputEnd", callId: 1, errorMessage: "it threw" },
	{ kind: "hostResult", hostCallId: 9, value: bytes },
	{ kind: "hostFailure", hostCallId: 9, code: "Error", message: "no" },
	{ kind: "sessionEnd", sessionId: "s" },
	{ kind: "progressCredit", callId: 1 },
])("$kind is written as the worker reads it", (frame) => {
	expect(decodeHostFrame(MESSAGE_PACK.encode(frame))).toEqual(frame);
});

test("a call is written with what it has, and no more", () => {
	const call: HostFrame = {
		kind: "call",
		callId: 7,
		arguments: bytes,
		tool: "echo",
		timeoutMs: 0,
		sessionId: "",
		traceContext: {},
		streamCredit: 0,
		streamBytes: 0,
		hasInput: false,
		attachment: undefined,
		resultSegment: "",
		segmentsGone: [],
		wantsProgress: false,
		allowsHandles: false,
	};
	expect(MESSAGE_PACK.encode(call)).toEqual(
		encodeValue([1, 7, bytes, "echo", { stream_credit: 0 }]),
	);
	const all: HostFrame = {
		...call,
		timeoutMs: 5,
		sessionId: "s",
		traceContext: { traceparent: "00", baggage: "a=1" },
		streamBytes: 1024,
		hasInput: true,
		attachment: { name: "h1", size: 8, offset: 0 },
		resultSegment: "h2",
		segmentsGone: ["h3"],
		wantsProgress: true,
		allowsHandles: true,
	};
	expect(decodeHostFrame(MESSAGE_PACK.encode(all))).toMatchObject(all);
});

test.each([
	["no array", encodeValue({ kind: 1 })],
	["an array without a kind", encodeValue([])],
	["an unknown kind", encodeValue([99, 1])],
	["a kind that is no number", encodeValue(["1", 1])],
	["too few fields", encodeValue([2, 1])],
	["a negative number", encodeValue([5, -1, 1])],
	["a number that is not safe", encodeValue([5, 2n ** 60n, 1])],
	["a number where bytes belong", encodeValue([2, 1, 7, null])],
	["a list where text belongs", encodeValue([9, 1, 0.5, []])],
	["an attachment without a size", encodeValue([2, 1, bytes, ["w1"]])],
	[
		"a header that is no text",
		encodeValue([6, 1, 1, "f", bytes, { traceparent: 1 }]),
	],
	["nothing", new Uint8Array()],
	["bytes after its end", Buffer.from([...encodeValue([7, 1]), 0xc0])],
])("a frame that has %s is refused", (_, frame) => {
	expect(() => decode(frame)).toThrow();
});

test("whatever bytes arrive are a frame or refused, at a cost that their length justifies", () => {
	const change = fc.tuple(fc.nat(200), fc.nat(255));
	fc.assert(
		fc.property(
			fc.constantFrom(...OF_WORKER),
			fc.array(change, { maxLength: 5 }),
			fc.nat(200),
			(frame, changes, cut) => {
				const written = Buffer.from(encodeWorkerFrame(frame));
				for (const [at, byte] of changes) written[at % written.length] = byte;
				const data = written.subarray(0, written.length - (cut % 3));
				let read: WorkerFrame;
				try {
					read = decode(data);
				} catch (error) {
					expect(error).toBeInstanceOf(Error);
					return;
				}
				// What was read can be written.
				expect(decode(encodeWorkerFrame(read))).toEqual(read);
			},
		),
		{ numRuns: rounds(1_000_000, 20_000) },
	);
});

test("signals of the worker are read, and those of a later version are none", () => {
	const read = (...signal: unknown[]) => {
		const written = encodeValue(signal);
		return decodeSignal(written, 0, written.length);
	};
	expect(read(1)).toEqual({ kind: "welcome" });
	expect(read(2, 5, 1, 900)).toEqual({
		kind: "ping",
		answer: { sequence: 5, callsRunning: 1 },
	});
	const tool = ["f", "Does it.", "STREAM", false, "{}", "{}", null];
	expect(read(3, [tool])).toEqual({
		kind: "described",
		tools: [
			{
				name: "f",
				description: "Does it.",
				shape: "STREAM",
				readsInput: false,
				argumentsSchemaJson: "{}",
				resultSchemaJson: "{}",
				batchMax: undefined,
			},
		],
	});
	expect(read(5, "LEFT", "")).toEqual({
		kind: "bye",
		reason: "LEFT",
		message: "",
	});
	expect(read(99, "later")).toBe(undefined);
	for (const signal of [[], ["1"], [2], [2, "5", 1], [3, 1], [3, [["f"]]], [5]])
		expect(() => read(...signal)).toThrow();
});
