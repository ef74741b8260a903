import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../scripts/run.ts";
import { cases } from "../cases.ts";
import type { BenchResult } from "../result.ts";

/** The results that docs/benchmarks.md shows: a file for each case, with one case in it. */
const DIRECTORY = join(root, "bench/results");

/**
 * Puts each case of some runs in the place of what was kept of it before.
 *
 * @throws RangeError where a run was a quick one, or a file is none of the benchmark's: nothing is kept then.
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
			const text = JSON.stringify({ ...result, cases: [one] }, null, "\t");
			writeFileSync(join(directory, `${one.name}.json`), `${text}\n`);
		}
}

/** What is kept, in the order of the report. */
export function keptResults(
	directory: string = DIRECTORY,
): readonly BenchResult[] {
	return cases
		.map(({ name }) => join(directory, `${name}.json`))
		.filter((file) => existsSync(file))
		.map((file) => JSON.parse(readFileSync(file, "utf8")) as BenchResult);
}
