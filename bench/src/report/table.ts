import type { BenchResult, CaseResult } from "../result.ts";
import { aimLine, cellsOf } from "./cells.ts";

/** What the machine was, in lines. */
export function machineLines({ machine, peers, quick }: BenchResult): string[] {
	const { processor, processors, memoryGb, kernel } = machine;
	const versions = { ...machine.versions, ...peers };
	const named = Object.entries(versions).map((pair) => pair.join(" "));
	return [
		`${processor}, ${processors} processors, ${memoryGb} GB, ${kernel}`,
		named.join(", "),
		...(quick ? ["Quick: short runs, for a look only"] : []),
	];
}

/** What else the machine did: of others, or of the run before this one. */
export function loadBefore({ machine }: BenchResult): string {
	return `load average of the minute before: ${machine.loadBefore}`;
}

/** One case for a terminal. */
export function caseTable(result: CaseResult): string {
	const cells = cellsOf(result);
	const columns = Math.max(...cells.map((line) => line.length));
	const widths = Array.from({ length: columns }, (_, column) =>
		Math.max(
			...cells.map((line) =>
				// A row that is missing has one long cell, which does not count.
				line.length === columns ? (line[column]?.length ?? 0) : 0,
			),
			column === 0 ? Math.max(...cells.map(([name]) => name?.length ?? 0)) : 0,
		),
	);
	const lines = cells.map((line) =>
		line
			.map((text, column) =>
				column === 0
					? text.padEnd(widths[0] ?? 0)
					: text.padStart(line.length === columns ? (widths[column] ?? 0) : 0),
			)
			.join("  ")
			.trimEnd(),
	);
	const failed = result.rows.flatMap(({ name, problem, figures }) =>
		problem !== undefined && Object.keys(figures).length > 0
			? [`! ${name}: ${problem}`]
			: [],
	);
	return [
		`\n${result.title} (${result.name}, ${result.runs} runs, median and min - max)`,
		...lines,
		...failed,
		...result.aims.map((aim) => `* ${aimLine(aim)}`),
	].join("\n");
}
