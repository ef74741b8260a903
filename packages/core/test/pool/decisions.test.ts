import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CommandDescription } from "../../src/adapter.ts";
import type { EndReason } from "../../src/contract/process-registry.ts";
import { CallShapes } from "../../src/pool/observe/control-endpoint.ts";
import { DurationHistogram } from "../../src/pool/observe/statistics.ts";
import { UsualDurations } from "../../src/pool/observe/usual-durations.ts";
import {
	type Arrival,
	ArrivalList,
} from "../../src/pool/placement/arrival-list.ts";
import { CapacityIndex } from "../../src/pool/placement/capacity-index.ts";
import {
	type Session,
	SessionTable,
} from "../../src/pool/placement/session-table.ts";
import { judgeWear } from "../../src/pool/workers/replacer.ts";
import { workersToStart } from "../../src/pool/workers/sizing.ts";
import {
	failuresAfter,
	type Slot,
	type SlotState,
	SlotTable,
	stateLeftBy,
} from "../../src/pool/workers/slot-table.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { virtualWorld } from "../../src/testing/virtual-pool.ts";
import type { Worker } from "../../src/worker/worker.ts";

const NO_LIMITS = {
	afterMs: Number.POSITIVE_INFINITY,
	afterCalls: Number.POSITIVE_INFINITY,
	aboveResidentBytes: Number.POSITIVE_INFINITY,
	afterCancels: Number.POSITIVE_INFINITY,
};

test("a worker is worn by the limit it passed, and never without one", () => {
	const wear = { ageMs: 10, calls: 10, cancelled: 10, residentBytes: 10 };
	expect(judgeWear(wear, NO_LIMITS)).toBeUndefined();
	expect(judgeWear(wear, { ...NO_LIMITS, afterMs: 10 })).toBe("age");
	expect(judgeWear(wear, { ...NO_LIMITS, afterCalls: 10 })).toBe("calls");
	expect(judgeWear(wear, { ...NO_LIMITS, afterCancels: 10 })).toBe("cancels");
	expect(judgeWear(wear, { ...NO_LIMITS, afterCancels: 11 })).toBeUndefined();
	expect(judgeWear(wear, { ...NO_LIMITS, aboveResidentBytes: 9 })).toBe(
		"resident_memory",
	);
	expect(
		judgeWear(
			{ ...wear, residentBytes: undefined },
			{ ...NO_LIMITS, aboveResidentBytes: 9 },
		),
	).toBeUndefined();
});

test("the number of workers stays between minimum and maximum, and covers what waits", () => {
	fc.assert(
		fc.property(
			fc.nat(20),
			fc.integer({ min: 1, max: 40 }),
			fc.nat(40),
			fc.nat(40),
			fc.nat(200),
			fc.integer({ min: 1, max: 8 }),
			(min, extra, occupied, starting, waitingCalls, callsPerWorker) => {
				const max = min + extra;
				const view = {
					min,
					max,
					occupied: Math.min(occupied, max),
					starting: Math.min(starting, occupied, max),
					waitingCalls,
					callsPerWorker,
				};
				const more = workersToStart(view);
				expect(more).toBeGreaterThanOrEqual(0);
				expect(view.occupied + more).toBeLessThanOrEqual(max);
				expect(view.occupied + more).toBeGreaterThanOrEqual(Math.min(min, max));
				const covered = (view.starting + more) * callsPerWorker >= waitingCalls;
				expect(covered || view.occupied + more === max).toBe(true);
				// And no more than that.
				const isLastNeeded =
					(view.starting + more - 1) * callsPerWorker < waitingCalls;
				const isToMin = view.occupied + more <= min;
				expect(more === 0 || isToMin || isLastNeeded).toBe(true);
			},
		),
	);
});

test("the least loaded worker is chosen, and none that has no room", () => {
	const index = new CapacityIndex<{ callsRunning: number }>();
	const [a, b] = [{ callsRunning: 2 }, { callsRunning: 1 }];
	expect(index.leastLoaded()).toBeUndefined();
	index.put(a, a.callsRunning);
	index.put(b, b.callsRunning);
	expect(index.leastLoaded()).toBe(b);
	b.callsRunning = 3;
	index.put(b, b.callsRunning);
	expect(index.leastLoaded()).toBe(a);
	index.put(a, undefined);
	index.put(a, undefined);
	expect(index.leastLoaded()).toBe(b);
	expect(index.size).toBe(1);
});

test("among workers with the same load the one that has waited longest is chosen", () => {
	const index = new CapacityIndex<{ callsRunning: number }>();
	const [a, b] = [{ callsRunning: 1 }, { callsRunning: 1 }];
	index.put(a, a.callsRunning);
	index.put(b, b.callsRunning);
	// It has the load that it had, and keeps its place.
	index.put(a, a.callsRunning);
	expect(index.leastLoaded()).toBe(a);
	index.put(b, undefined);
	expect(index.leastLoaded()).toBe(a);
	index.put(a, undefined);
	expect(index.leastLoaded()).toBeUndefined();
});

test("durations are summed up to three digits", () => {
	const histogram = new DurationHistogram();
	expect(histogram.summary()).toMatchObject({ count: 0, p50Ms: 0 });
	for (let ms = 1; ms <= 100; ms++) histogram.record(ms);
	const summary = histogram.summary();
	expect(summary.count).toBe(100);
	expect(summary.p50Ms).toBeCloseTo(50, 0);
	expect(summary.maxMs).toBeCloseTo(100, 0);
});

class Numbered implements Arrival {
	readonly number: number;
	before: this | undefined = undefined;
	after: this | undefined = undefined;

	constructor(number: number) {
		this.number = number;
	}
}

test("it has the items that a set would have, in the same order", () => {
	fc.assert(
		fc.property(
			fc.array(fc.record({ remove: fc.boolean(), number: fc.nat(5) })),
			(steps) => {
				const items = Array.from(
					{ length: 6 },
					(_, number) => new Numbered(number),
				);
				const list = new ArrivalList<Numbered>();
				const set = new Set<Numbered>();
				for (const { remove, number } of steps) {
					const item = items[number] as Numbered;
					if (remove) {
						list.remove(item);
						set.delete(item);
					} else if (!set.has(item)) {
						list.add(item);
						set.add(item);
					}
					expect([...list]).toEqual([...set]);
					expect(list.size).toBe(set.size);
				}
			},
		),
	);
});

test("what is removed keeps none of the others", () => {
	const items = [0, 1, 2].map((number) => new Numbered(number));
	const list = new ArrivalList<Numbered>();
	for (const item of items) list.add(item);
	for (const item of items) list.remove(item);
	expect(items.map(({ before, after }) => [before, after])).toEqual([
		[undefined, undefined],
		[undefined, undefined],
		[undefined, undefined],
	]);
});

const [worker, successor] = [{}, {}] as unknown as [Worker, Worker];
const empty = { kind: "empty" } as const;
const starting = { kind: "starting", worker } as const;
const occupied = { kind: "occupied", worker, successor: undefined } as const;

function slotWith(state: SlotState): Slot {
	return { index: 0, state, failures: 0, previous: undefined };
}

function ending(reason: EndReason, readyMs = 0) {
	return { reason, readyMs } as Parameters<typeof stateLeftBy>[2];
}

describe("a slot whose worker is gone", () => {
	test("is empty, or of the successor that is starting", () => {
		const succeeded = { ...occupied, successor };
		const crashed = ending("exited");
		expect(stateLeftBy(slotWith(occupied), worker, crashed)).toEqual(empty);
		expect(stateLeftBy(slotWith(succeeded), worker, crashed)).toEqual({
			kind: "starting",
			worker: successor,
		});
	});

	test("is left to what started it, where the start failed", () => {
		const slot = slotWith(starting);
		expect(stateLeftBy(slot, worker, ending("start_failed"))).toBeUndefined();
		expect(stateLeftBy(slot, worker, ending("restarted"))).toEqual(empty);
	});

	test("stays as it is where another one has it", () => {
		for (const state of [empty, starting, occupied])
			expect(
				stateLeftBy(slotWith(state), successor, ending("exited")),
			).toBeUndefined();
	});
});

test("failures in a row are counted from the last long life, and not where the end was wanted", () => {
	expect(failuresAfter(2, ending("exited", 9_999))).toBe(3);
	expect(failuresAfter(2, ending("exited", 10_000))).toBe(1);
	for (const reason of ["recycled", "closed", "restarted"] as const)
		expect(failuresAfter(2, ending(reason))).toBe(0);
	for (const reason of ["companion_lost", "parent_lost"] as const)
		expect(failuresAfter(2, ending(reason))).toBe(0);
});

describe("a table of slots", () => {
	test("knows whether a slot is empty, whatever was put into it before", () => {
		const table = new SlotTable(2);
		const [first, second] = table.all;
		if (first === undefined || second === undefined)
			throw new Error("there are two");
		table.put(first, starting);
		table.put(first, occupied);
		expect(table.hasEmpty).toBe(true);
		table.put(second, { kind: "starting", worker: successor });
		expect(table.hasEmpty).toBe(false);
		expect(table.taken).toBe(2);
		expect(table.occupiedBy(worker)).toBe(first);
		expect(table.occupiedBy(successor)).toBeUndefined();
		table.put(first, empty);
		table.put(first, empty);
		expect(table.hasEmpty).toBe(true);
		table.put(first, starting);
		expect(table.hasEmpty).toBe(false);
	});

	test("that becomes smaller keeps a slot until its worker is gone", () => {
		const table = new SlotTable(3);
		const [, , last] = table.all;
		if (last === undefined) throw new Error("there are three");
		table.put(last, occupied);
		table.resize(1);
		expect(table.all).toHaveLength(3);
		expect(table.max).toBe(1);
		table.put(last, empty);
		expect(table.all).toHaveLength(1);
		expect(table.hasRoomOn(last)).toBe(false);
		expect(table.hasEmpty).toBe(true);
		table.resize(2);
		expect(table.all.map(({ index }) => index)).toEqual([0, 1]);
	});

	test("has no room on an empty slot when as many workers as are allowed have others", () => {
		const table = new SlotTable(2);
		const [first, second] = table.all;
		if (first === undefined || second === undefined)
			throw new Error("there are two");
		table.put(second, occupied);
		expect(table.hasRoomOn(first)).toBe(true);
		table.resize(1);
		expect(table.hasRoomOn(first)).toBe(false);
	});
});

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

const { signal } = new AbortController();

function described(
	name: string,
	shape: CommandDescription["shape"],
): CommandDescription {
	return { name, description: "", argumentsSchema: {}, shape };
}

test("an adapter is asked about a command once, and not about what it has named", async () => {
	let asked = 0;
	const describe = async () => {
		asked++;
		return [described("one", "unary"), described("many", "stream")];
	};
	const clock = new VirtualClock();
	const shapes = new CallShapes({ describe }, clock);
	expect(await shapes.of("many", signal)).toBe("stream");
	expect(await shapes.of("one", signal)).toBe("unary");
	expect(asked).toBe(1);
	expect(await shapes.of("absent", signal)).toBeUndefined();
	// Nothing waits for an answer that is there.
	expect(clock.pending()).toBe(0);
	shapes.learn("many", "unary");
	expect(await shapes.of("many", signal)).toBe("unary");
});

test("an adapter that does not know, or fails, is not an obstacle", async () => {
	const clock = new VirtualClock();
	for (const describe of [
		async () => [described("one", undefined)],
		() => Promise.reject(new Error("no worker")),
	])
		expect(
			await new CallShapes({ describe }, clock).of("one", signal),
		).toBeUndefined();
	expect(await new CallShapes({}, clock).of("one", signal)).toBeUndefined();
});

test("a worker that does not answer is waited for 2 s at most", async () => {
	const clock = new VirtualClock();
	const describe = (signal: AbortSignal) =>
		new Promise<never>((_, reject) => {
			signal.addEventListener("abort", () => reject(signal.reason));
		});
	const shape = new CallShapes({ describe }, clock).of("one", signal);
	await clock.advance(2_000);
	expect(await shape).toBeUndefined();
});

function scene() {
	const { clock, events } = virtualWorld();
	const ended: string[] = [];
	const table = new SessionTable(
		...(["p", clock, 1_000, events.record] as const),
		({ id }) => void ended.push(id),
	);
	return { clock, table, ended };
}

test("a call looks at no more than one session that is not its own, however many are open", () => {
	const { table } = scene();
	let looks = 0;
	const watched = (session: Session): void => {
		const { lastUsedMs } = session;
		Object.defineProperty(session, "lastUsedMs", {
			get: () => {
				looks++;
				return lastUsedMs;
			},
		});
	};
	for (let n = 0; n < 100; n++) watched(table.open(`idle-${n}`, "strict"));
	const own = table.open("own", "strict");
	looks = 0;
	for (let call = 0; call < 10; call++) {
		table.use(own);
		table.done(own);
	}
	expect(looks).toBeLessThanOrEqual(10);
});

test("whether a process is needed is known without a look at other sessions", () => {
	const { table } = scene();
	let looks = 0;
	const bound = (id: string, incarnation: string): Session => {
		const session = table.open(id, "strict");
		table.bind(session, incarnation);
		Object.defineProperty(session, "affinity", {
			get: () => {
				looks++;
				return "strict";
			},
		});
		return session;
	};
	for (let n = 0; n < 100; n++) bound(`other-${n}`, "other");
	const own = bound("own", "mine");
	looks = 0;
	expect([table.needs("mine"), table.needs("nobody's")]).toEqual([true, false]);
	expect(looks).toBe(0);
	table.use(own);
	table.end(own, "closed");
	expect(table.needs("mine")).toBe(true);
	table.done(own);
	expect(table.needs("mine")).toBe(false);
});

test("those expire that were not used for the time, in whatever order they were opened and used", async () => {
	const { table, clock, ended } = scene();
	const [used, busy] = ["used", "busy", "idle"].map((id) =>
		table.open(id, "hint"),
	);
	if (used === undefined || busy === undefined) return expect.unreachable();
	table.use(busy);
	await clock.advance(600);
	table.use(used);
	table.done(used);
	await clock.advance(600);
	expect(() => table.use(used)).not.toThrow();
	expect(ended).toEqual(["idle"]);
	table.done(used);
	table.done(busy);
	await clock.advance(1_100);
	expect(() => table.use(used)).toThrow("sessions.ttlMs");
	expect(ended.sort()).toEqual(["busy", "idle", "used"]);
	expect(table.size).toBe(0);
});
