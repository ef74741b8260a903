import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../scripts/run.ts";
import { cases } from "../cases.ts";
import type { BenchResult } from "../result.ts";

/** The results behind docs/benchmarks.md: one file for each case. */
const DIRECTORY = join(root, "bench/results");

/**
 * Replaces the published result of each case in some runs.
 *
 * @throws RangeError if a run was a quick one, or a file is not a result of the benchmark; then nothing is written.
 */
export function keepResults(
	results: readonly BenchResult[],
	directory: string = DIRECTORY,
): void {
	if (
		!results.every(({ version, cases }) => version === 1 && cases?.length > 0)
	)
		throw new RangeError("A file holds no results of the benchmark.");
	const quick = results.find((result) => result.quick);
	if (quick !== undefined)
		throw new RangeError(
			`"${quick.command}" was a quick run, for a look only: measure without --quick what is to be published.`,
		);
	mkdirSync(directory, { recursive: true });
	for (const result of results)
		for (const one of result.cases) {
			const text = formatResult({ ...result, cases: [one] });
			writeFileSync(join(directory, `${one.name}.json`), `${text}\n`);
		}
}

/** How deep a row, a figure and an aim of a case are in a result. */
const ROW_DEPTH = 4;

/** Formats a result as JSON with a line for each row, figure and aim. */
export function formatResult(value: unknown, depth = 0): string {
	if (typeof value !== "object" || value === null || depth === ROW_DEPTH)
		return JSON.stringify(value);
	const [open, close] = Array.isArray(value) ? "[]" : "{}";
	const lines = Object.entries(value)
		.filter(([, each]) => each !== undefined)
		.map(([key, each]) => {
			const name = Array.isArray(value) ? "" : `${JSON.stringify(key)}: `;
			return `\n${"\t".repeat(depth + 1)}${name}${formatResult(each, depth + 1)}`;
		});
	if (lines.length === 0) return `${open}${close}`;
	return `${open}${lines.join(",")}\n${"\t".repeat(depth)}${close}`;
}

/** Returns the published results, in the order of the report. */
export function keptResults(
	directory: string = DIRECTORY,
): readonly BenchResult[] {
	return cases
		.map(({ name }) => join(directory, `${name}.json`))
		.filter((file) => existsSync(file))
		.map((file) => JSON.parse(readFileSync(file, "utf8")) as BenchResult);
}
