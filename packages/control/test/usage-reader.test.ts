import { expect, test } from "vitest";
import { UsageReader } from "../src/watchers.ts";

/** A process table that takes `tookMs` to be read, and a worker that uses half a processor. */
function scene(tookMs: number) {
	let nowMs = 1_000;
	const read: number[] = [];
	const reader = new UsageReader(
		{
			usage: () => {
				read.push(nowMs);
				nowMs += tookMs;
				return new Map([["a-1", { residentBytes: 1, cpuTimeMs: nowMs / 2 }]]);
			},
		},
		{ now: () => nowMs, after: () => ({ cancel: () => {} }) },
	);
	const lookEvery = (ms: number, times: number): void => {
		for (let look = 0; look < times; look++, nowMs += ms) reader.latest();
	};
	return { read, reader, lookEvery };
}

test("the process table is read every two seconds, however often clients ask, and gives the processors in use", () => {
	const { read, reader, lookEvery } = scene(1);
	expect(reader.latest().get("a-1")?.processors).toBeNull();
	lookEvery(100, 100);
	expect(read.length).toBeLessThanOrEqual(6);
	expect(reader.latest().get("a-1")?.processors).toBeCloseTo(0.5, 2);
});

test("a process table that takes long to be read takes a quarter of a percent of the time", () => {
	const { read, lookEvery } = scene(50);
	lookEvery(500, 240);
	expect(read.length).toBe(6);
	const gaps = read.slice(1).map((at, index) => at - (read[index] ?? 0));
	expect(Math.min(...gaps)).toBeGreaterThanOrEqual(50 * 400);
});

test("a process table that cannot be read now shows no usage, and the next reading begins anew", () => {
	let nowMs = 0;
	let isReadable = false;
	const reader = new UsageReader(
		{
			usage: () => {
				if (!isReadable) throw new Error("EMFILE: too many open files");
				return new Map([["a-1", { residentBytes: 1, cpuTimeMs: nowMs }]]);
			},
		},
		{ now: () => nowMs, after: () => ({ cancel: () => {} }) },
	);
	expect(reader.latest().size).toBe(0);
	isReadable = true;
	nowMs += 2_000;
	expect(reader.latest().get("a-1")?.processors).toBeNull();
	nowMs += 2_000;
	expect(reader.latest().get("a-1")?.processors).toBe(1);
});
