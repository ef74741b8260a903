import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type OutputLine, readLines } from "../../src/process/output.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { linesOf } from "./output-lines-bench.ts";

describe("a progress bar", () => {
	/** Draws every 10 ms, and ends as asked. */
	async function bar(updates: number, ...last: string[]) {
		const clock = new VirtualClock();
		const stream = new PassThrough();
		const lines: { readonly atMs: number; readonly text: string }[] = [];
		const ended = Promise.withResolvers<void>();
		readLines(
			stream,
			100,
			({ text }) => lines.push({ atMs: clock.now(), text }),
			ended.resolve,
			clock,
		);
		for (let update = 1; update <= updates; update++) {
			stream.write(`\r${update} of ${updates}`);
			await clock.advance(10);
		}
		for (const text of last) stream.write(text);
		await clock.settle();
		return { lines, clock, stream, ended: ended.promise };
	}

	test("of 10,000 updates in 100 s is 20 lines, the last of them its end", async () => {
		const { lines, stream, ended, clock } = await bar(10_000, "\n");
		stream.end();
		await ended;
		expect(lines).toHaveLength(20);
		expect(lines[0]).toEqual({ atMs: 5_000, text: "500 of 10000" });
		expect(lines.at(-1)).toEqual({ atMs: 100_000, text: "10000 of 10000" });
		expect(clock.pending()).toBe(0);
	});

	test("that stands still is reported once, also when its line ends later", async () => {
		const { lines, clock, stream, ended } = await bar(3);
		await clock.advance(60_000);
		expect(lines).toEqual([{ atMs: 5_000, text: "3 of 3" }]);
		stream.end("\nnext\n");
		await ended;
		expect(lines.map(({ text }) => text)).toEqual(["3 of 3", "next"]);
	});

	test("whose writer ends in its middle keeps its last state", async () => {
		const { lines, clock, stream, ended } = await bar(3);
		stream.destroy();
		await ended;
		expect(lines.map(({ text }) => text)).toEqual(["3 of 3"]);
		expect(clock.pending()).toBe(0);
	});
});

/** The rule in a few lines, over the whole text at once. */
function model(text: string, maxLineBytes: number): OutputLine[] {
	const parts = text.split("\n");
	const unended = parts.pop() ?? "";
	const lines = parts.flatMap((part) => drawn(part, maxLineBytes));
	const last = drawn(unended, maxLineBytes).filter(
		(line) => line.text !== "" || line.cut,
	);
	return [...lines, ...last];
}

function drawn(part: string, maxLineBytes: number): OutputLine[] {
	const pieces = part.split("\r");
	const [first = ""] = pieces;
	const last = pieces.findLast((piece) => piece !== "") ?? "";
	const atOnce = cut(first, maxLineBytes);
	if (!atOnce.cut) return [cut(last, maxLineBytes)];
	return pieces.slice(1).some((piece) => piece !== "")
		? [atOnce, cut(last, maxLineBytes)]
		: [atOnce];
}

function cut(line: string, maxLineBytes: number): OutputLine {
	let fitting = "";
	for (const character of line) {
		if (Buffer.byteLength(fitting + character) > maxLineBytes)
			return { text: fitting, cut: true };
		fitting += character;
	}
	return { text: line, cut: false };
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
