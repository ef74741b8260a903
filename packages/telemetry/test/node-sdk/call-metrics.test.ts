import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { METRICS } from "../../src/index.ts";
import type { Export, ExportedHistogram } from "./program.ts";

const root = join(import.meta.dirname, "../../../..");
const dataDir = mkdtempSync(join(tmpdir(), "snakepit-node-sdk-"));
let told: Export;

beforeAll(async () => {
	const { stdout } = await promisify(execFile)(
		process.execPath,
		[
			"--conditions=snakepit-source",
			join(import.meta.dirname, "program.ts"),
			dataDir,
		],
		{
			timeout: 90_000,
			maxBuffer: 1e7,
			env: { ...process.env, VIRTUAL_ENV: join(root, "python/.venv") },
		},
	);
	told = JSON.parse(stdout) as Export;
}, 120_000);
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const DURATION = METRICS["snakepit.call.duration"];
const boundaries = DURATION.buckets ?? [];

/** What a histogram of these calls must be, in one line for each series. */
function linesOf(calls: Export["settled"]): readonly string[] {
	const series = Map.groupBy(calls, (call) =>
		[call.pool, call.command, call.outcome, call.code ?? "-"].join(" "),
	);
	return [...series]
		.map(([key, of]) => {
			const seconds = of.map(({ totalMs }) => totalMs / 1_000);
			const buckets = Array.from({ length: boundaries.length + 1 }, () => 0);
			for (const value of seconds) {
				const bucket = boundaries.findIndex((boundary) => value <= boundary);
				const at = bucket < 0 ? boundaries.length : bucket;
				buckets[at] = (buckets[at] ?? 0) + 1;
			}
			return line(key, of.length, buckets, sumOf(seconds));
		})
		.sort();
}

function exportedLines(
	points: readonly ExportedHistogram[],
): readonly string[] {
	return points
		.filter(({ name }) => name === "snakepit.call.duration")
		.map(({ attributes, count, buckets, sum }) => {
			const key = ["pool.name", "command", "call.outcome"].map(
				(name) => attributes[`snakepit.${name}`],
			);
			const code = attributes["error.type"] ?? "-";
			return line([...key, code].join(" "), count, buckets, sum);
		})
		.sort();
}

function line(
	key: string,
	count: number,
	buckets: readonly number[],
	sum: number,
): string {
	return `${key}: ${count} [${buckets.join()}] ${sum.toFixed(6)}`;
}

const sumOf = (values: readonly number[]): number =>
	values.reduce((sum, value) => sum + value, 0);

test("the calls ended in every way", () => {
	const endings = told.settled.map((call) => call.code ?? call.outcome);
	expect(endings).toHaveLength(34);
	expect(new Set(endings)).toEqual(
		new Set(["succeeded", "TOOL_FAILED", "WORKER_EXITED"]),
	);
});

test("the last export of totals, after both pools were closed, has the count, sum and buckets of every series", () => {
	const last = told.totals.at(-1) ?? [];
	expect(exportedLines(last)).toEqual(linesOf(told.settled));
	const durations = last.filter(({ name }) => name.includes("call.duration"));
	for (const {
		unit,
		isDelta,
		boundaries: given,
		startMs,
		endMs,
	} of durations) {
		expect(unit).toBe(DURATION.unit);
		expect(isDelta).toBe(false);
		expect(given).toEqual(boundaries);
		expect(startMs).toBeLessThan(endMs);
	}
});

test("deltas have each call once, in the export after it", () => {
	const [first = [], second = [], ...more] = told.deltas;
	expect(more).toEqual([]);
	const isLater = (index: number): boolean => index >= 26;
	const calls = told.settled;
	expect(exportedLines(first)).toEqual(
		linesOf(calls.filter((_, index) => !isLater(index))),
	);
	expect(exportedLines(second)).toEqual(
		linesOf(calls.filter((_, index) => isLater(index))),
	);
	const ofFirst = (points: readonly ExportedHistogram[]) =>
		points.find(
			({ name, attributes }) =>
				name === "snakepit.attempt.duration" &&
				attributes["snakepit.pool.name"] === "first" &&
				attributes["snakepit.command"] === "echo",
		);
	expect(ofFirst(first)).toMatchObject({ count: 20, isDelta: true });
	expect(ofFirst(second)).toMatchObject({
		count: 7,
		startMs: ofFirst(first)?.endMs,
	});
});

test("Prometheus scrapes the same, under the names of the dashboards, and each metric once", () => {
	const samples = told.exposed.split("\n");
	const count = samples.find(
		(sample) =>
			sample.startsWith("snakepit_call_duration_count{") &&
			sample.includes('snakepit_pool_name="first"') &&
			sample.includes('snakepit_call_outcome="succeeded"'),
	);
	expect(count).toMatch(/ 27( |$)/);
	for (const name of ["call_duration", "call_wait_time", "attempt_duration"])
		expect(
			samples.filter((each) => each === `# TYPE snakepit_${name} histogram`),
		).toHaveLength(1);
	// What is not of each call comes from the SDK.
	expect(told.exposed).toContain("snakepit_worker_exits_total{");
});
