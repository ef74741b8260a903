import { expect, test } from "vitest";
import { advanceOf } from "../../src/heartbeat/activity.ts";
import type { ThreadFacts } from "../../src/world.ts";

/** A look at threads that used so much, by their names. */
const look = (
	atMs: number,
	used: Readonly<Record<string, number>>,
	held: ThreadFacts["held"] = "no",
) => ({
	atMs,
	threads: new Map(
		Object.entries(used).map(([id, cpuTimeMs]) => [
			id,
			{ id, cpuTimeMs, held },
		]),
	),
});

test("a first look has nothing to compare with, unless something is held", () => {
	expect(advanceOf(undefined, look(0, { a: 9_000 }))).toEqual({
		cpuMs: 0,
		activity: "unknown",
	});
	expect(
		advanceOf(undefined, look(0, { a: 0 }, "uninterruptible")).activity,
	).toBe("active");
});

test("one thread that used three hundredths of the time works, one that used less does not", () => {
	const before = look(0, { a: 100 });
	expect(advanceOf(before, look(2_000, { a: 160 }))).toEqual({
		cpuMs: 60,
		activity: "active",
	});
	expect(advanceOf(before, look(2_000, { a: 159 }))).toEqual({
		cpuMs: 59,
		activity: "idle",
	});
});

test("many threads that wait for a lock are idle, however much they use together", () => {
	const waiting = Array.from({ length: 64 }, (_, index) => `t${index}`);
	const at = (ms: number) =>
		Object.fromEntries(waiting.map((id) => [id, ms * 0.008]));
	expect(advanceOf(look(0, at(0)), look(2_000, at(2_000)))).toMatchObject({
		cpuMs: 64 * 16,
		activity: "idle",
	});
});

test("a thread that is new has used all of its time since, and one that ended is not missed", () => {
	const before = look(0, { a: 0, gone: 5_000 });
	expect(advanceOf(before, look(2_000, { a: 0, new: 60 }))).toEqual({
		cpuMs: 60,
		activity: "active",
	});
});

test("nothing used in no time is no work", () => {
	const before = look(0, { a: 7 });
	expect(advanceOf(before, look(0, { a: 7 })).activity).toBe("idle");
	expect(advanceOf(look(0, {}), look(2_000, {})).activity).toBe("idle");
});

test("a thread that a debugger stopped works, whatever it used", () => {
	const before = look(0, { a: 7 });
	expect(advanceOf(before, look(2_000, { a: 7 }, "traced")).activity).toBe(
		"active",
	);
});
