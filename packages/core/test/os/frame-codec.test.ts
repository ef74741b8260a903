import fc from "fast-check";
import { expect, test } from "vitest";
import { parseAnswer } from "../../src/os/fork/answer.ts";
import {
	encodeFrame,
	FrameError,
	FrameReader,
	MAX_ANSWER_BYTES,
	MAX_REQUEST_BYTES,
} from "../../src/os/fork/frame-codec.ts";

test("messages arrive whole and in order however the bytes are cut", () => {
	const message = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 });
	fc.assert(
		fc.property(
			fc.array(message, { maxLength: 5 }),
			fc.array(fc.nat(400)),
			(messages, cuts) => {
				const data = Buffer.concat(
					messages.map((each) => encodeFrame(each) ?? Buffer.alloc(0)),
				);
				const edges = [0, ...cuts, data.length]
					.map((edge) => Math.min(edge, data.length))
					.sort((a, b) => a - b);
				const reader = new FrameReader();
				const got = edges.flatMap((edge, n) =>
					reader.feed(data.subarray(edges[n - 1] ?? 0, edge)),
				);
				expect(got).toEqual(JSON.parse(JSON.stringify(messages)));
			},
		),
	);
});

test("any bytes are answers or a FrameError", () => {
	fc.assert(
		fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
			try {
				new FrameReader().feed(Buffer.from(bytes)).map(parseAnswer);
			} catch (error) {
				expect(error).toBeInstanceOf(FrameError);
			}
		}),
	);
});

test("lengths over the limits are refused on both sides", () => {
	const length = Buffer.alloc(4);
	length.writeUInt32BE(MAX_ANSWER_BYTES + 1);
	expect(() => new FrameReader().feed(length)).toThrow(FrameError);
	expect(encodeFrame({ a: "x".repeat(MAX_REQUEST_BYTES) })).toBeUndefined();
});

test("an answer that lacks something, or is none, is refused", () => {
	const wrong = [
		{ type: "fly" },
		{},
		{ type: "ready", version: 2, pid: 1 },
		{ type: "held", id: 1 },
		{ type: "failed", id: 1, errno: -1, message: "" },
		{ type: "failed", id: 1, errno: 1 },
		{ type: "exited", id: 1, how: "code" },
	];
	for (const message of wrong)
		expect(() => parseAnswer(message)).toThrow(FrameError);
});

test("an end by a signal names it; one without a name is shown as a shell does", () => {
	const exited = { type: "exited", id: 1 };
	expect(parseAnswer({ ...exited, how: "signal", status: 9 })).toMatchObject({
		exit: { kind: "signal", signal: "SIGKILL" },
	});
	expect(parseAnswer({ ...exited, how: "signal", status: 40 })).toMatchObject({
		exit: { kind: "code", code: 168 },
	});
});
