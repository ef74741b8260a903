import fc from "fast-check";
import { expect, test } from "vitest";
import { LENT_BYTES } from "../../src/channel/frame-channel.ts";
import {
	FRAME,
	MessageCutter,
	SIGNAL,
} from "../../src/channel/message-cutter.ts";
import { messageHeader } from "../support/message-header.ts";

const LIMIT = 1000;

function message(kind: number, body: Uint8Array): Uint8Array {
	return Buffer.concat([messageHeader(kind, body.length), body]);
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
			const cutter = new MessageCutter(LIMIT, (kind, chunk, begin, end) =>
				heard.push([kind, Uint8Array.from(chunk.subarray(begin, end))]),
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

test("a frame that is not lent keeps its content when the buffer is written over", () => {
	const sizes = fc.array(fc.constantFrom(0, 3, 20_000, 70_000, 300_000), {
		maxLength: 6,
	});
	const reads = fc.constantFrom(4, 999, 65_536, 262_144);
	fc.assert(
		fc.property(sizes, reads, (sent, read) => {
			const bodies = sent.map((size, i) => new Uint8Array(size).fill(i + 1));
			const bytes = Buffer.concat(bodies.map((body) => message(FRAME, body)));
			const heard: Uint8Array[] = [];
			const cutter = new MessageCutter(1_000_000, (_, chunk, begin, end) => {
				const body = chunk.subarray(begin, end);
				heard.push(body.length > LENT_BYTES ? body : Buffer.from(body));
			});
			// As the socket has it.
			const buffer = Buffer.alloc(read);
			for (let at = 0; at < bytes.length; at += read) {
				const here = bytes.subarray(at, at + read);
				buffer.set(here);
				cutter.take(buffer.subarray(0, here.length));
				buffer.fill(0xff);
			}
			expect(heard.map(({ length }) => length)).toEqual(sent);
			for (const [i, body] of heard.entries())
				expect(Buffer.compare(body, bodies[i] as Uint8Array)).toBe(0);
		}),
		{ numRuns: 30 },
	);
});

test("a large message has memory of its own, of its size", () => {
	const chunk = message(FRAME, new Uint8Array(70_000));
	let bytes = 0;
	new MessageCutter(100_000, (_, { buffer }) => {
		bytes = buffer.byteLength;
	}).take(chunk);
	expect(bytes).toBe(70_000);
});

test.each([
	{
		bytes: messageHeader(FRAME, LIMIT + 1),
		says: /1001 bytes .* limit is 1000/,
	},
	{ bytes: messageHeader(FRAME, 2 ** 32 - 1), says: /4294967295 bytes/ },
	{ bytes: messageHeader(2, 0), says: /of the unknown kind 2/ },
	{ bytes: Buffer.from("HTTP/1.1 400"), says: /of the unknown kind 72/ },
])("what is no message is refused by its header: $says", ({ bytes, says }) => {
	const cutter = new MessageCutter(LIMIT, () => {
		throw new TypeError("there is nothing to hear");
	});
	expect(() => cutter.take(bytes)).toThrow(says);
});
