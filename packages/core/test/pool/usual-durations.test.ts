import { expect, test } from "vitest";
import { UsualDurations } from "../../src/pool/observe/usual-durations.ts";

test("the longest of the last calls of each command is known, and how many calls that were", () => {
	const usual = new UsualDurations();
	expect(usual.of("read")).toBeUndefined();
	for (const ms of [5, 9, 7]) usual.note("read", ms);
	usual.note("write", 100);
	usual.note("read", 1);
	expect(usual.of("read")).toEqual({ calls: 4, longestMs: 9 });
	expect(usual.of("write")).toEqual({ calls: 1, longestMs: 100 });
});

test("what was long once is forgotten after a thousand others, and not before five hundred", () => {
	const usual = new UsualDurations();
	usual.note("read", 60_000);
	for (let n = 0; n < 500; n++) usual.note("read", 2);
	expect(usual.of("read")).toEqual({ calls: 501, longestMs: 60_000 });
	for (let n = 0; n < 500; n++) usual.note("read", 3);
	expect(usual.of("read")).toEqual({ calls: 501, longestMs: 3 });
});

test("of made-up names no more than two hundred are remembered", () => {
	const usual = new UsualDurations();
	for (let n = 0; n < 300; n++) usual.note(`command ${n}`, 1);
	expect(usual.of("command 199")).toBeDefined();
	expect(usual.of("command 200")).toBeUndefined();
	usual.note("command 0", 8);
	expect(usual.of("command 0")).toEqual({ calls: 2, longestMs: 8 });
});
