import { describe, expect, test } from "vitest";
import type { ProcessIdentity } from "../../src/contract/identity.ts";
import type { ThreadFacts } from "../../src/contract/world.ts";
import { ActivityWatch, advanceOf } from "../../src/heartbeat/hang-verdict.ts";

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

describe("a worker that is silent", () => {
	const WORKER = 40;
	/** The milliseconds that each thread of a process used, by pid; all are in the worker's group. */
	const group = (used: Readonly<Record<number, readonly number[]>>) => {
		const at = { used, tables: 0 };
		const watch = new ActivityWatch(WORKER, {
			threads: (pid) =>
				(at.used[pid] ?? []).map((cpuTimeMs, id) => ({
					...{ id: String(id), cpuTimeMs },
					held: "no",
				})),
			members: (groupId) => {
				expect(groupId).toBe(WORKER);
				at.tables++;
				return Object.keys(at.used).map((pid) => ({
					identity: { pid: Number(pid) } as ProcessIdentity,
					...{ groupId, condition: "alive" },
					...{ cpuTimeMs: 0, residentBytes: 0 },
				}));
			},
		});
		return { at, watch };
	};

	test("and works itself is active, and the table of processes is not read", () => {
		const { at, watch } = group({ [WORKER]: [100], 41: [100] });
		expect(watch.look(1_000)).toEqual({ cpuMs: 0, activity: "unknown" });
		const { tables } = at;
		at.used = { [WORKER]: [160], 41: [100] };
		expect(watch.look(3_000)).toEqual({ cpuMs: 60, activity: "active" });
		expect(at.tables).toBe(tables);
	});

	test("and alone in its group is idle, whatever its threads used before", () => {
		const { at, watch } = group({ [WORKER]: [5_000, 7_000] });
		expect(watch.look(1_000).activity).toBe("unknown");
		at.used = { [WORKER]: [5_010, 7_020] };
		expect(watch.look(3_000)).toEqual({ cpuMs: 30, activity: "idle" });
	});

	test("and waits for a child that computes is active, and what both used counts", () => {
		const { at, watch } = group({ [WORKER]: [10], 41: [10], 42: [10] });
		watch.look(1_000);
		at.used = { [WORKER]: [12], 41: [11], 42: [1_010] };
		expect(watch.look(3_000)).toEqual({ cpuMs: 1_003, activity: "active" });
	});

	test("and whose child is idle is idle; a child that is new is first only looked at", () => {
		const { at, watch } = group({ [WORKER]: [10] });
		watch.look(1_000);
		at.used = { [WORKER]: [10], 41: [10] };
		expect(watch.look(3_000).activity).toBe("idle");
		expect(watch.look(5_000)).toEqual({ cpuMs: 0, activity: "idle" });
	});

	test("may do anything where the table of processes cannot be read", () => {
		const watch = new ActivityWatch(WORKER, {
			threads: () => [{ id: "0", cpuTimeMs: 10, held: "no" }],
			members: () => {
				throw new Error("EMFILE: too many open files");
			},
		});
		watch.look(1_000);
		expect(watch.look(3_000)).toEqual({ cpuMs: 0, activity: "unknown" });
	});

	test("is looked at anew after an answer", () => {
		const { at, watch } = group({ [WORKER]: [10], 41: [10] });
		watch.look(1_000);
		watch.reset();
		at.used = { [WORKER]: [9_010], 41: [9_010] };
		expect(watch.look(3_000)).toEqual({ cpuMs: 0, activity: "unknown" });
	});
});

describe("a silent worker on another machine", () => {
	const here = {
		threads: () => expect.unreachable(),
		members: () => expect.unreachable(),
	};

	test("is judged by what was measured there, and nothing here is looked at", () => {
		const usage = { cpuTimeMs: 5_000, residentBytes: 1 };
		const watch = new ActivityWatch(40, here, () => usage);
		expect(watch.look(1_000).activity).toBe("unknown");
		usage.cpuTimeMs = 5_500;
		expect(watch.look(3_000)).toEqual({ cpuMs: 500, activity: "active" });
		expect(watch.look(5_000)).toEqual({ cpuMs: 0, activity: "idle" });
		watch.reset();
		expect(watch.look(7_000).activity).toBe("unknown");
	});

	test("of which nothing was measured may do anything", () => {
		const watch = new ActivityWatch(40, here, () => undefined);
		watch.look(1_000);
		expect(watch.look(3_000)).toEqual({ cpuMs: 0, activity: "unknown" });
	});
});
