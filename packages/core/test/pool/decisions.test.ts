import fc from "fast-check";
import { expect, test } from "vitest";
import { DurationHistogram } from "../../src/pool/observe/statistics.ts";
import {
	type Arrival,
	ArrivalList,
} from "../../src/pool/placement/arrival-list.ts";
import { CapacityIndex } from "../../src/pool/placement/capacity-index.ts";
import { judgeWear } from "../../src/pool/workers/replacer.ts";
import { workersToStart } from "../../src/pool/workers/sizing.ts";

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
