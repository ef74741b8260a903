import { bucketOf, type ServedTick } from "@snakepit/control";
import { expect, test } from "vitest";
import {
	poolSnapshot,
	workerSnapshot,
} from "../../../../control/test/fake-run.ts";
import {
	type ChartData,
	type ChartHistory,
	type ChartWindow,
	COMMANDS,
	type CommandRow,
	commandRows,
	histogram,
	latencyData,
	memoryData,
	NO_HISTORY,
	TIERS,
	throughputData,
	windowOf,
	withSample,
} from "../../../web/model/chart-data.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

interface Ended {
	readonly pool: string;
	readonly command: string;
	readonly succeeded: number;
	readonly failed: number;
	readonly totalMs: readonly (readonly [number, number])[];
}

const ended = (calls: number, pool = "demo", command = "a"): Ended => ({
	...{ pool, command, succeeded: calls - 1, failed: 1 },
	totalMs: [[bucketOf(10), calls]],
});

function tick(
	wallMs: number,
	throughput: readonly Ended[],
	residentBytes: number,
	tickMs = 500,
): ServedTick {
	const usage = { residentBytes, cpuTimeMs: 1, processors: null };
	const pools = [poolSnapshot({ workers: [workerSnapshot({ usage })] })];
	return {
		tickMs,
		throughput,
		run: { wallMs, pools },
	} as unknown as ServedTick;
}

/** Ticks of half a second: in each, calls of 10 ms end, and the worker has a megabyte more. */
function samples(
	ticks: number,
	calls: number,
	wallMs = (tick: number) => tick * 500,
): ChartHistory {
	let history = NO_HISTORY;
	for (let each = 1; each <= ticks; each++)
		history = withSample(
			history,
			tick(wallMs(each), [ended(calls)], each * 1e6),
		);
	return history;
}

const throughput = (shown: ChartWindow): ChartData =>
	throughputData(shown, commandRows(shown));

test("ticks are added up to bins of a second, of 15 seconds and of 2 minutes", () => {
	const { tiers } = samples(65, 5);
	expect(tiers[0]).toHaveLength(33);
	expect(
		tiers[0]?.slice(0, 2).map(({ wallMs, spanMs }) => [wallMs, spanMs]),
	).toEqual([
		[500, 1_000],
		[1_500, 1_000],
	]);
	expect(tiers[1]?.map(({ spanMs }) => spanMs)).toEqual([
		15_000, 15_000, 2_500,
	]);
	expect(tiers[2]?.map(({ spanMs }) => spanMs)).toEqual([32_500]);
});

test("a day is kept, and no more: the finer the bins, the shorter", () => {
	let history = NO_HISTORY;
	for (let second = 0; second < 25 * 3_600; second += 15)
		history = withSample(history, tick(second * 1_000, [], 1, 1_000));
	expect(history.tiers.map(({ length }) => length)).toEqual(
		TIERS.map(({ bins }) => bins),
	);
	const spans = [180 * MINUTE_MS, DAY_MS].map((windowMs) => {
		const { bins } = windowOf(history, windowMs);
		return (bins.at(-1)?.wallMs ?? 0) - (bins[0]?.wallMs ?? 0);
	});
	expect(spans).toEqual([10_785_000, DAY_MS - 120_000]);
});

test("what is kept of a day of many pools is bounded", () => {
	let history = NO_HISTORY;
	const pools = Array.from({ length: 200 }, (_, pool) => `pool-${pool}`);
	const throughput = pools.map((pool) => ended(2, pool, "add"));
	for (let minute = 0; minute < 30; minute++)
		history = withSample(history, tick(minute * 120_000, throughput, 1));
	expect(history.commands).toHaveLength(COMMANDS + 1);
	// Of each command: its number, two counts, and one bucket.
	for (const { calls } of history.tiers.flat())
		expect(calls.length).toBeLessThanOrEqual(6 * (COMMANDS + 1));
	const rows = commandRows(windowOf(history, DAY_MS));
	expect(rows[0]).toMatchObject({ command: "(other commands)", pool: "" });
	const calls = rows.reduce((sum, row) => sum + row.calls, 0);
	expect(calls).toBe(30 * 2 * pools.length);
});

test("a clock that is set back begins another bin, which does not last until it is as late again", () => {
	const setBack = (tick: number) =>
		tick < 5 ? 9_000_000 + tick * 500 : tick * 500;
	expect(samples(9, 5, setBack).tiers[0]?.map(({ spanMs }) => spanMs)).toEqual([
		1_000, 1_000, 1_000, 1_000, 500,
	]);
});

test("a command has its rate, failures and durations", () => {
	const [row] = commandRows(windowOf(samples(8, 5), MINUTE_MS));
	expect(row).toMatchObject({
		...{ name: "a", calls: 40, failed: 8, perSecond: 10 },
	});
	// Buckets are 9 % wide.
	expect(row?.p99).toBeGreaterThanOrEqual(10);
	expect(row?.p99).toBeLessThan(11);
	expect(commandRows(windowOf(NO_HISTORY, MINUTE_MS))).toEqual([]);
});

test("commands of the same name in two pools are two commands", () => {
	const calls = ["north", "south"].map((pool) => ended(3, pool, "add"));
	const history = withSample(NO_HISTORY, tick(1, calls, 1));
	const names = (pool?: string) =>
		commandRows(windowOf(history, MINUTE_MS, pool)).map(
			({ name }: CommandRow) => name,
		);
	expect(names()).toEqual(["north: add", "south: add"]);
	expect(names("south")).toEqual(["add"]);
	expect(throughput(windowOf(history, MINUTE_MS)).labels).toEqual(names());
	const south = windowOf(history, MINUTE_MS, "south");
	expect(throughput(south).lines).toEqual([[6]]);
});

test("a histogram has at most 24 bars, and every call is in one of them", () => {
	const bars = histogram(Uint32Array.from({ length: 100 }, (_, at) => at + 1));
	expect(bars.length).toBeLessThanOrEqual(24);
	expect(bars.reduce((total, { calls }) => total + calls, 0)).toBe(5_050);
	expect(bars.map(({ fromMs }) => fromMs)).toEqual(
		bars.map(({ fromMs }) => fromMs).toSorted((a, b) => a - b),
	);
	expect(histogram(new Uint32Array(3))).toEqual([]);
});

test("charts have a point for each bin", () => {
	const shown = windowOf(samples(4, 5), MINUTE_MS);
	expect(throughput(shown)).toEqual({
		...{ labels: ["a"], x: [0.5, 1.5], lines: [[10, 10]] },
	});
	expect(memoryData(shown, undefined).lines).toEqual([[2e6, 4e6]]);
	expect(memoryData(shown, []).lines).toEqual([]);
	const latency = latencyData(shown, undefined);
	expect(latency.labels).toEqual(["p50", "p95", "p99"]);
	expect(latency.lines[0]?.[0]).toBeGreaterThanOrEqual(10);
	expect(latencyData(shown, 7).lines).toEqual(Array(3).fill([null, null]));
});

test("a line is interrupted where nothing was observed", () => {
	const history = samples(4, 5, (tick) => tick * 500 + (tick > 2 ? 60_000 : 0));
	const { x, lines } = throughput(windowOf(history, 5 * MINUTE_MS));
	expect(x).toEqual([0.5, 1.5, 61.5]);
	expect(lines).toEqual([[10, null, 10]]);
});
