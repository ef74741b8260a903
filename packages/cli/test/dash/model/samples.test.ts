import { bucketOf, type ServedTick } from "@snakepit/control";
import { expect, test } from "vitest";
import {
	poolSnapshot,
	workerSnapshot,
} from "../../../../control/test/fake-run.ts";
import {
	type Bin,
	commandRows,
	histogram,
	latencyData,
	latest,
	memoryData,
	throughputData,
	withSample,
} from "../../../web/model/chart-data.ts";

/** Ticks of half a second: in each, calls of 10 ms end, and the worker has a megabyte more. */
function samples(
	ticks: number,
	calls: number,
	wallMs = (tick: number) => tick * 500,
): readonly Bin[] {
	let bins: readonly Bin[] = [];
	for (let tick = 1; tick <= ticks; tick++)
		bins = withSample(bins, {
			tickMs: 500,
			throughput: [
				{
					...{ pool: "demo", command: "a", succeeded: calls - 1, failed: 1 },
					totalMs: [[bucketOf(10), calls]],
				},
			],
			run: {
				wallMs: wallMs(tick),
				pools: [
					poolSnapshot({
						workers: [
							workerSnapshot({
								usage: {
									...{ residentBytes: tick * 1e6, cpuTimeMs: 1 },
									processors: null,
								},
							}),
						],
					}),
				],
			},
		} as unknown as ServedTick);
	return bins;
}

test("ticks are added up to bins of two seconds, and those of 15 minutes are kept", () => {
	const bins = samples(9, 5);
	expect(bins.map(({ wallMs, spanMs }) => [wallMs, spanMs])).toEqual([
		[500, 2_000],
		[2_500, 2_000],
		[4_500, 500],
	]);
	expect(samples(2_000, 1)).toHaveLength(450);
	expect(latest(bins, 2_000).map(({ wallMs }) => wallMs)).toEqual([4_500]);
	expect(latest(bins, 2_001)).toHaveLength(2);
});

test("a clock that is set back begins another bin, which does not last until it is as late again", () => {
	const setBack = (tick: number) =>
		tick < 5 ? 9_000_000 + tick * 500 : tick * 500;
	expect(samples(9, 5, setBack).map(({ spanMs }) => spanMs)).toEqual([
		2_000, 2_000, 500,
	]);
});

test("a command has its rate, failures and durations", () => {
	const [row] = commandRows(samples(8, 5));
	expect(row).toMatchObject({
		...{ command: "a", calls: 40, failed: 8, perSecond: 10 },
	});
	// Buckets are 9 % wide.
	expect(row?.p99).toBeGreaterThanOrEqual(10);
	expect(row?.p99).toBeLessThan(11);
	expect(commandRows([])).toEqual([]);
});

test("a histogram has at most 24 bars, and every call is in one of them", () => {
	const counts = Array.from(
		{ length: 100 },
		(_, bucket) => [bucket, bucket + 1] as const,
	);
	const bars = histogram(counts);
	expect(bars.length).toBeLessThanOrEqual(24);
	expect(bars.reduce((total, { calls }) => total + calls, 0)).toBe(5_050);
	expect(bars.map(({ fromMs }) => fromMs)).toEqual(
		bars.map(({ fromMs }) => fromMs).toSorted((a, b) => a - b),
	);
	expect(histogram([])).toEqual([]);
});

test("charts have a point for each bin", () => {
	const bins = samples(8, 5);
	expect(throughputData(bins)).toEqual({
		...{ labels: ["a"], x: [0.5, 2.5], lines: [[10, 10]] },
	});
	expect(memoryData(bins).lines).toEqual([[4e6, 8e6]]);
	const latency = latencyData(bins, undefined);
	expect(latency.labels).toEqual(["p50", "p95", "p99"]);
	expect(latency.lines[0]?.[0]).toBeGreaterThanOrEqual(10);
	expect(latencyData(bins, "another").lines).toEqual(
		Array(3).fill([null, null]),
	);
});
