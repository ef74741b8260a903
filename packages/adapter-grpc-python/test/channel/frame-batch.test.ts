import fc from "fast-check";
import { expect, test } from "vitest";
import {
	batchOf,
	cutBatch,
	FrameBatch,
} from "../../src/channel/frame-batch.ts";
import { HostFrame, WorkerFrame } from "../../src/gen/bridge.ts";

const results = fc.array(
	fc.record({
		callId: fc.nat(),
		value: fc.oneof(
			fc.uint8Array({ maxLength: 300 }),
			fc
				.constantFrom(16_000, 17_000, 70_000)
				.map((length) => new Uint8Array(length)),
		),
	}),
	{ minLength: 1 },
);

type Sent = { readonly callId: number; readonly value: Uint8Array };

function frameOf({ callId, value }: Sent): Uint8Array {
	const result = {
		callId,
		value,
		attachment: undefined,
		argumentsFree: false,
	};
	return WorkerFrame.encode({
		frame: { $case: "result", value: result },
	}).finish();
}

function framesIn(message: Uint8Array): readonly Uint8Array[] {
	const frames: Uint8Array[] = [];
	cutBatch(message, (frame) => frames.push(Uint8Array.from(frame)));
	return frames;
}

/** Compares bytes in one go: one by one takes seconds. */
function expectSame(
	found: readonly Uint8Array[],
	expected: readonly Uint8Array[],
): void {
	expect(found).toHaveLength(expected.length);
	expect(
		found.every((bytes, i) => Buffer.compare(bytes, at(expected, i)) === 0),
	).toBe(true);
}

function at(frames: readonly Uint8Array[], index: number): Uint8Array {
	const frame = frames[index];
	if (frame === undefined) throw new TypeError("there is no such frame");
	return frame;
}

async function written(
	frames: readonly Uint8Array[],
	limit = 1024 * 1024,
): Promise<readonly Uint8Array[]> {
	const messages: Uint8Array[] = [];
	const batch = new FrameBatch(limit, (message) => messages.push(message));
	for (const frame of frames) batch.add(frame);
	expect(messages).toEqual([]);
	await new Promise(setImmediate);
	return messages;
}

test("a batch is what protobuf calls one, both ways", () => {
	fc.assert(
		fc.property(results, (sent) => {
			const frames = sent.map(frameOf);
			const message = batchOf(frames);
			const decoded = WorkerFrame.decode(message).frame;
			if (decoded?.$case !== "batch") throw new Error("no batch");
			expectSame(decoded.value.frames, frames);
			const encoded = WorkerFrame.encode({ frame: decoded }).finish();
			expectSame([encoded], [message]);
			expectSame(framesIn(message), frames);
		}),
	);
});

test("the frames of one turn arrive in order, small ones together and large ones alone", async () => {
	await fc.assert(
		fc.asyncProperty(results, async (sent) => {
			const frames = sent.map(frameOf);
			const messages = await written(frames);
			expectSame(messages.flatMap(framesIn), frames);
			for (const message of messages) {
				const { length } = framesIn(message);
				if (length > 1) expect(message.length).toBeLessThanOrEqual(65_536);
			}
		}),
	);
});

test("a hundred small frames are one message, and a single one is not a batch", async () => {
	const frame = HostFrame.encode({
		frame: { $case: "sessionEnd", value: { sessionId: "a" } },
	}).finish();
	expect(await written([frame])).toEqual([frame]);
	expect(await written(Array.from({ length: 100 }, () => frame))).toHaveLength(
		1,
	);
});

test("no batch is larger than a message may be", async () => {
	const sent = Array.from({ length: 200 }, (_, callId) => ({
		callId,
		value: new Uint8Array(callId),
	}));
	const messages = await written(sent.map(frameOf), 1000);
	expectSame(messages.flatMap(framesIn), sent.map(frameOf));
	expect(Math.max(...messages.map(({ length }) => length))).toBeGreaterThan(
		700,
	);
	expect(Math.max(...messages.map(({ length }) => length))).toBeLessThanOrEqual(
		1000,
	);
});

test.each([
	{ what: "is cut off", change: (bytes: Uint8Array) => bytes.subarray(0, -1) },
	{
		what: "goes on after its end",
		change: (bytes: Uint8Array) => Uint8Array.of(...bytes, 0),
	},
	{
		what: "holds another field",
		change: (bytes: Uint8Array) => bytes.map((byte, i) => (i === 2 ? 9 : byte)),
	},
	{
		what: "claims a frame beyond its end",
		change: (bytes: Uint8Array) =>
			bytes.map((byte, i) => (i === 3 ? 100 : byte)),
	},
	{
		what: "has a length without an end",
		change: () => Uint8Array.of(0x52, 255, 255, 255, 255, 255, 255),
	},
])("a batch that $what is refused whole", ({ change }) => {
	const frame = frameOf({ callId: 1, value: Uint8Array.of(1, 2, 3) });
	const heard: Uint8Array[] = [];
	expect(() =>
		cutBatch(change(Uint8Array.from(batchOf([frame, frame]))), (one) =>
			heard.push(one),
		),
	).toThrow("a malformed batch of frames arrived");
	expect(heard).toEqual([]);
});
