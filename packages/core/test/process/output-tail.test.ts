import fc from "fast-check";
import { expect, test } from "vitest";
import {
	lastCharacters,
	OutputTail,
	withoutLastLines,
} from "../../src/process/output.ts";

test("the tail is the last lines, oldest first, however many were printed", () => {
	fc.assert(
		fc.property(fc.array(fc.string()), fc.nat(12), (lines, limit) => {
			const tail = new OutputTail(limit);
			for (const line of lines) tail.push(line);
			expect(tail.lines()).toEqual(limit === 0 ? [] : lines.slice(-limit));
		}),
	);
});

test("what was read from the tail does not change when more is printed", () => {
	const tail = new OutputTail(2);
	tail.push("one");
	const read = tail.lines();
	tail.push("two");
	expect(read).toEqual(["one"]);
});

test("in a paragraph each line is marked, and empty output makes no paragraph", () => {
	const tail = new OutputTail(2);
	expect(tail.paragraph()).toBe("");
	tail.push("Traceback (most recent call last):");
	tail.push("MemoryError");
	expect(tail.paragraph()).toBe(
		"\nIts last lines:\n  | Traceback (most recent call last):\n  | MemoryError",
	);
});

test("room that is made is for what comes later, and none where nothing is to be kept", () => {
	const tail = new OutputTail(1);
	tail.push("one");
	tail.push("two");
	tail.makeRoom(2);
	for (const line of ["three", "four", "five"]) tail.push(line);
	expect(tail.lines()).toEqual(["three", "four", "five"]);
	const nothing = new OutputTail(0);
	nothing.makeRoom(2);
	nothing.push("one");
	expect(nothing.lines()).toEqual([]);
});

test("what is kept of the last lines is bounded, from the end", () => {
	expect(lastCharacters(["a", "bc", "def"], 6)).toEqual(["a", "bc", "def"]);
	expect(lastCharacters(["a", "bc", "def"], 4)).toEqual(["c", "def"]);
	expect(lastCharacters(["a", "x".repeat(9)], 4)).toEqual(["xxxx"]);
	expect(lastCharacters(["", "", ""], 2)).toEqual(["", ""]);
	expect(lastCharacters([], 4)).toEqual([]);
});

test("a message can be shown without the last lines that were added to it", () => {
	const tail = new OutputTail(2);
	for (const line of ["one", "two"]) tail.push(line);
	const message = "It ended.\nIt was old.";
	expect(withoutLastLines(message + tail.paragraph())).toBe(message);
	expect(withoutLastLines(message)).toBe(message);
});
