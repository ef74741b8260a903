import { PassThrough, Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type OutputLine, readLines } from "../../src/worker/output-lines.ts";

/** What is told of a stream that brings these chunks and ends. */
function linesOf(
	chunks: readonly (string | Uint8Array)[],
	maxLineBytes = 100,
): Promise<readonly OutputLine[]> {
	const lines: OutputLine[] = [];
	return new Promise((resolve) =>
		readLines(
			Readable.from(chunks.map((chunk) => Buffer.from(chunk))),
			maxLineBytes,
			(line) => lines.push(line),
			() => resolve(lines),
			setImmediate,
		),
	);
}

const whole = (...texts: string[]): OutputLine[] =>
	texts.map((text) => ({ text, cut: false }));

describe("lines", () => {
	test("are the same however the stream is cut into chunks", async () => {
		expect(await linesOf(["on", "e\ntw", "o\n", "\nfour\n"])).toEqual(
			whole("one", "two", "", "four"),
		);
	});

	test("end at CRLF as at LF, also when a chunk ends between the two", async () => {
		expect(await linesOf(["one\r\ntwo\r", "\nthree\n"])).toEqual(
			whole("one", "two", "three"),
		);
	});

	test("keep a carriage return that ends no line", async () => {
		expect(await linesOf(["10 %\r", "20 %\r\r\n"])).toEqual(
			whole("10 %\r20 %\r"),
		);
	});

	test("keep a character whose bytes came in two chunks", async () => {
		const bytes = Buffer.from("naïve 🐍\n");
		const chunks = [...bytes].map((byte) => Uint8Array.of(byte));
		expect(await linesOf(chunks)).toEqual(whole("naïve 🐍"));
	});

	test("that are no UTF-8 are told with replacement characters, and the next one is whole", async () => {
		expect(await linesOf([Uint8Array.of(0xff, 0xfe, 0x0a), "fine\n"])).toEqual(
			whole("\uFFFD\uFFFD", "fine"),
		);
	});

	test("without a last line break are told at the end", async () => {
		expect(await linesOf(["one\ntwo"])).toEqual(whole("one", "two"));
		expect(await linesOf(["one\ntwo\r"])).toEqual(whole("one", "two"));
		expect(await linesOf([Uint8Array.of(0xf0, 0x9f)])).toEqual(whole("\uFFFD"));
	});

	test("of an empty stream are none", async () => {
		expect(await linesOf([])).toEqual([]);
	});
});

describe("a line over the limit", () => {
	test("is told once, cut, as soon as it is known to be too long, and its rest is dropped", async () => {
		const stream = new PassThrough();
		const lines: OutputLine[] = [];
		const ended = new Promise<void>((resolve) =>
			readLines(stream, 4, (line) => lines.push(line), resolve, setImmediate),
		);
		const told = new Promise((resolve) => stream.once("data", resolve));
		stream.write("abcdefgh");
		await told;
		expect(lines).toEqual([{ text: "abcd", cut: true }]);
		stream.write("ijk");
		stream.end("lm\nno\n");
		await ended;
		expect(lines).toEqual([
			{ text: "abcd", cut: true },
			{ text: "no", cut: false },
		]);
	});

	test("is not one that just fills it, whichever way it ends", async () => {
		for (const end of ["\n", "\r\n", ""])
			expect(await linesOf([`abcd${end}`], 4)).toEqual(whole("abcd"));
		expect(await linesOf(["abcd\r", "\nx"], 4)).toEqual(whole("abcd", "x"));
	});

	test("is cut before the character that does not fit, never within one", async () => {
		expect(await linesOf(["ab🐍c\n"], 5)).toEqual([{ text: "ab", cut: true }]);
		expect(await linesOf(["ab", "🐍c\n"], 6)).toEqual([
			{ text: "ab🐍", cut: true },
		]);
	});

	test("may be the last one", async () => {
		expect(await linesOf(["abcdefgh"], 4)).toEqual([
			{ text: "abcd", cut: true },
		]);
		expect(await linesOf(["abcdefgh", Uint8Array.of(0xf0)], 4)).toEqual([
			{ text: "abcd", cut: true },
		]);
	});
});

describe("the end", () => {
	test("is told once, after the last line, also when the stream breaks", async () => {
		for (const finish of [
			(stream: PassThrough) => stream.end(),
			(stream: PassThrough) => stream.destroy(),
			(stream: PassThrough) => stream.destroy(new Error("EIO")),
		]) {
			const stream = new PassThrough();
			const told: string[] = [];
			readLines(
				stream,
				100,
				({ text }) => told.push(text),
				() => told.push("(end)"),
				setImmediate,
			);
			const closed = new Promise((resolve) => stream.once("close", resolve));
			const read = new Promise((resolve) => stream.once("data", resolve));
			stream.write("last words");
			await read;
			finish(stream);
			await closed;
			expect(told).toEqual(["last words", "(end)"]);
		}
	});
});

/** The rule in one line each, over the whole text at once. */
function model(text: string, maxLineBytes: number): OutputLine[] {
	const parts = text.split("\n");
	if (parts.at(-1) === "") parts.pop();
	return parts.map((part) => {
		const line = part.endsWith("\r") ? part.slice(0, -1) : part;
		let fitting = "";
		for (const character of line) {
			if (Buffer.byteLength(fitting + character) > maxLineBytes)
				return { text: fitting, cut: true };
			fitting += character;
		}
		return { text: line, cut: false };
	});
}

test("whatever is printed in whatever chunks, the lines are those of the whole text", async () => {
	const character = fc.oneof(
		{ weight: 4, arbitrary: fc.constantFrom("a", "é", "€", "🐍") },
		{ weight: 2, arbitrary: fc.constantFrom("\n", "\r", "\r\n") },
	);
	await fc.assert(
		fc.asyncProperty(
			fc.array(character, { maxLength: 60 }),
			fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 9 }),
			fc.integer({ min: 1, max: 20 }),
			async (characters, sizes, maxLineBytes) => {
				const text = characters.join("");
				const bytes = Buffer.from(text);
				const chunks: Uint8Array[] = [];
				for (let at = 0; at < bytes.length; ) {
					const size = sizes[chunks.length % sizes.length] ?? 1;
					chunks.push(bytes.subarray(at, at + size));
					at += size;
				}
				expect(await linesOf(chunks, maxLineBytes)).toEqual(
					model(text, maxLineBytes),
				);
			},
		),
		{ numRuns: 500 },
	);
});

test("a flood of short lines is told in turns, so that other work goes on in between, and none is lost", async () => {
	const lines = Array.from({ length: 20_000 }, (_, index) => String(index));
	const stream = Readable.from([
		Buffer.from(`${lines.join("\n")}\n`),
		Buffer.from("last\n"),
	]);
	const told: string[] = [];
	const ended = Promise.withResolvers<void>();
	let turns = 0;
	readLines(
		stream,
		100,
		({ text }) => void told.push(text),
		() => ended.resolve(),
		(action) => {
			turns++;
			setImmediate(action);
		},
	);
	await ended.promise;
	expect(told).toEqual([...lines, "last"]);
	expect(turns).toBe(20);
});
