import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	contentLengthFraming,
	type Framing,
	lineFraming,
} from "../src/framing.ts";

const framings: readonly (readonly [string, Framing])[] = [
	["lines", lineFraming],
	["content-length", contentLengthFraming],
];

/** Takes bytes in pieces that end at these places. */
function read(
	framing: Framing,
	bytes: Buffer,
	cuts: readonly number[],
): string[] {
	const reader = framing.reader(1_000_000);
	const places = [
		0,
		...cuts.map((cut) => cut % (bytes.length + 1)),
		bytes.length,
	];
	places.sort((a, b) => a - b);
	return places
		.slice(1)
		.flatMap((end, at) => reader.take(bytes.subarray(places[at], end)));
}

describe.each(framings)("%s", (_name, framing) => {
	test("what is framed is read again, wherever the bytes are cut", () => {
		const texts = fc.array(
			fc
				.string({ unit: "grapheme", maxLength: 50 })
				.filter((text) => !/[\r\n]/.test(text)),
		);
		fc.assert(
			fc.property(texts, fc.array(fc.nat()), (messages, cuts) => {
				const bytes = Buffer.concat(
					messages.map((message) => Buffer.from(framing.frame(message))),
				);
				expect(read(framing, bytes, cuts)).toEqual(messages);
			}),
		);
	});

	test("any bytes are messages or an error, and never more than the limit is kept", () => {
		fc.assert(
			fc.property(fc.array(fc.uint8Array({ maxLength: 300 })), (chunks) => {
				const reader = framing.reader(200);
				try {
					for (const chunk of chunks)
						for (const message of reader.take(Buffer.from(chunk)))
							expect(message.length).toBeLessThanOrEqual(200);
				} catch (error) {
					expect((error as Error).name).toBe("FramingError");
				}
			}),
		);
	});

	test("a message that is too long is an error before it has arrived", () => {
		const reader = framing.reader(1_000);
		const framed = Buffer.from(framing.frame("x".repeat(1_001)));
		expect(() => reader.take(framed.subarray(0, -1))).toThrow(
			"maxMessageBytes",
		);
	});
});

test("a header is read as language servers write it, and refused without a length", () => {
	const reader = contentLengthFraming.reader(1_000);
	const head = "content-type: application/json\r\nContent-Length:  2 \r\n\r\n";
	expect(reader.take(Buffer.from(`${head}{}`))).toEqual(["{}"]);
	expect(() => reader.take(Buffer.from("Length: 2\r\n\r\n{}"))).toThrow(
		"without Content-Length",
	);
	const endless = contentLengthFraming.reader(1_000);
	expect(() => endless.take(Buffer.alloc(5_000, "x"))).toThrow("4096");
});
