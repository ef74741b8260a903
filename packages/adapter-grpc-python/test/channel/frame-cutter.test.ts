import fc from "fast-check";
import { expect, test } from "vitest";
import {
	FRAME,
	FrameCutter,
	HEADER_BYTES,
	SIGNAL,
	writeHeader,
} from "../../src/channel/frame-cutter.ts";

const LIMIT = 1000;

function message(kind: number, body: Uint8Array): Uint8Array {
	const bytes = new Uint8Array(HEADER_BYTES + body.length);
	writeHeader(bytes, 0, kind, body.length);
	bytes.set(body, HEADER_BYTES);
	return bytes;
}

function header(kind: number, length: number): Uint8Array {
	const bytes = new Uint8Array(HEADER_BYTES);
	writeHeader(bytes, 0, kind, length);
	return bytes;
}

const messages = fc.array(
	fc.tuple(fc.constantFrom(FRAME, SIGNAL), fc.uint8Array({ maxLength: LIMIT })),
);

test("messages arrive whole and in order, however they are cut", () => {
	fc.assert(
		fc.property(messages, fc.infiniteStream(fc.nat(40)), (sent, sizes) => {
			const bytes = Buffer.concat(
				sent.map(([kind, body]) => message(kind, body)),
			);
			const heard: [number, Uint8Array][] = [];
			const cutter = new FrameCutter(LIMIT, (kind, body) =>
				heard.push([kind, Uint8Array.from(body)]),
			);
			for (let at = 0; at < bytes.length; ) {
				const size = 1 + (sizes.next().value as number);
				cutter.take(bytes.subarray(at, at + size));
				at += size;
			}
			expect(heard).toEqual(sent);
		}),
	);
});

test("a message that arrives in one piece is not copied", () => {
	const chunk = message(FRAME, Uint8Array.of(1, 2, 3));
	let buffer: ArrayBufferLike | undefined;
	new FrameCutter(LIMIT, (_, body) => {
		buffer = body.buffer;
	}).take(chunk);
	expect(buffer).toBe(chunk.buffer);
});

test.each([
	{ bytes: header(FRAME, LIMIT + 1), says: /1001 bytes .* limit is 1000/ },
	{ bytes: header(FRAME, 2 ** 32 - 1), says: /4294967295 bytes/ },
	{ bytes: header(2, 0), says: /of kind 2/ },
	{ bytes: Buffer.from("HTTP/1.1 400"), says: /of kind 72/ },
])("what is no message is refused by its header: $says", ({ bytes, says }) => {
	const cutter = new FrameCutter(LIMIT, () => {
		throw new TypeError("there is nothing to hear");
	});
	expect(() => cutter.take(bytes)).toThrow(says);
});
