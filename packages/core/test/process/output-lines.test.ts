import { PassThrough, Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { type OutputLine, readLines } from "../../src/process/output.ts";
import { linesOf, turns, whole } from "./output-lines-bench.ts";

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

	test("are what a carriage return left of them, as a terminal shows them at their end", async () => {
		expect(await linesOf(["10 %\r", "20 %\r\r\n"])).toEqual(whole("20 %"));
		expect(await linesOf(["\r 10 %", "\r", " 20 %\ndone\n"])).toEqual(
			whole(" 20 %", "done"),
		);
	});

	test("end where a bar below another one is left for good, not where it is redrawn", async () => {
		// What tqdm writes of two bars: a line break and one line up again bring it back to the line of the lower one.
		const drawn = [
			"\router 0 %\n",
			"\rinner 0 %\u001b[A\n",
			"\rinner 50 %\u001b[A\n\rinner 99 %\u001b[A",
			"\n\r          \u001b[A\router 50 %\n",
			"\rinner 0 %\u001b[A\n\r        \u001b[A\router 100 %\n",
		];
		const expected = whole("outer 0 %", "outer 50 %", "outer 100 %");
		expect(await linesOf(drawn)).toEqual(expected);
		expect(await linesOf([...drawn.join("")])).toEqual(expected);
	});

	test("of a bar two below another one stay one line, too", async () => {
		const bar = (text: string) => `\n\n\r${text}\u001b[A\u001b[A`;
		expect(
			await linesOf(["\rone", bar("a"), bar("b"), bar("c"), "\n\nend\n"]),
		).toEqual(whole("one", "", "end"));
	});

	test("that a program leaves below a bar show no sign that moves the cursor", async () => {
		expect(await linesOf(["\rinner 99 %\u001b[A"])).toEqual(
			whole("inner 99 %"),
		);
	});

	test("that were erased with blanks are not there", async () => {
		expect(await linesOf(["\r 90 %\r     \rdone\n"])).toEqual(whole("done"));
		expect(await linesOf(["\r 90 %\r     \r"])).toEqual([]);
	});

	test("keep a character whose bytes came in two chunks", async () => {
		const bytes = Buffer.from("naïve 🐍\n");
		const chunks = [...bytes].map((byte) => Uint8Array.of(byte));
		expect(await linesOf(chunks)).toEqual(whole("naïve 🐍"));
	});

	test("that are no UTF-8 are reported with replacement characters, and the next one is whole", async () => {
		expect(await linesOf([Uint8Array.of(0xff, 0xfe, 0x0a), "fine\n"])).toEqual(
			whole("\uFFFD\uFFFD", "fine"),
		);
	});

	test("without a last line break are reported at the end", async () => {
		expect(await linesOf(["one\ntwo"])).toEqual(whole("one", "two"));
		expect(await linesOf(["one\ntwo\r"])).toEqual(whole("one", "two"));
		expect(await linesOf([Uint8Array.of(0xf0, 0x9f)])).toEqual(whole("\uFFFD"));
	});

	test("of an empty stream are none", async () => {
		expect(await linesOf([])).toEqual([]);
	});
});

describe("a line over the limit", () => {
	test("is reported once, cut, as soon as it is known to be too long, and its rest is dropped", async () => {
		const stream = new PassThrough();
		const lines: OutputLine[] = [];
		const ended = new Promise<void>((resolve) =>
			readLines(stream, 4, (line) => lines.push(line), resolve, turns),
		);
		const read = new Promise((resolve) => stream.once("data", resolve));
		stream.write("abcdefgh");
		await read;
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

	test("gives way to what is drawn over it, which is reported when the line ends", async () => {
		expect(await linesOf(["abcdefgh\rij\rklmnopq\rrs\r\n"], 4)).toEqual([
			{ text: "abcd", cut: true },
			{ text: "rs", cut: false },
		]);
		expect(await linesOf(["a\r", "klmnopq", "rst\n"], 4)).toEqual([
			{ text: "klmn", cut: true },
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
	test("is reported once, after the last line, also when the stream breaks", async () => {
		for (const finish of [
			(stream: PassThrough) => stream.end(),
			(stream: PassThrough) => stream.destroy(),
			(stream: PassThrough) => stream.destroy(new Error("EIO")),
		]) {
			const stream = new PassThrough();
			const lines: string[] = [];
			readLines(
				stream,
				100,
				({ text }) => lines.push(text),
				() => lines.push("(end)"),
				turns,
			);
			const closed = new Promise((resolve) => stream.once("close", resolve));
			const read = new Promise((resolve) => stream.once("data", resolve));
			stream.write("last output");
			await read;
			finish(stream);
			await closed;
			expect(lines).toEqual(["last output", "(end)"]);
		}
	});
});

test("a flood of short lines is reported in turns, so that other work continues in between, and no line is lost", async () => {
	const lines = Array.from({ length: 20_000 }, (_, index) => String(index));
	const stream = Readable.from([
		Buffer.from(`${lines.join("\n")}\n`),
		Buffer.from("last\n"),
	]);
	const reported: string[] = [];
	const ended = Promise.withResolvers<void>();
	let taken = 0;
	readLines(
		stream,
		100,
		({ text }) => void reported.push(text),
		() => ended.resolve(),
		{
			after: (ms, action) => {
				taken++;
				return turns.after(ms, action);
			},
		},
	);
	await ended.promise;
	expect(reported).toEqual([...lines, "last"]);
	expect(taken).toBe(20);
});
