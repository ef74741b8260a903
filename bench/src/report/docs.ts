import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../scripts/run.ts";
import type { BenchResult, CaseResult } from "../result.ts";
import { aimLine, cellsOf } from "./cells.ts";
import { drawPlot } from "./plot.ts";
import { loadBefore, machineLines } from "./table.ts";

/** Writes docs/benchmarks.md and its plot from one run, or several of which each measured other cases. */
export function writeDocs(results: readonly BenchResult[]): void {
	const chosen = chosenCases(results);
	writeFileSync(join(root, "docs/benchmarks.md"), benchmarksPage(results));
	writeFileSync(
		join(root, "docs/benchmarks.svg"),
		drawPlot(chosen.map(({ one }) => one)),
	);
}

interface ChosenCase {
	readonly one: CaseResult;
	readonly from: BenchResult;
}

/** In the order of their first run; the last one counts. */
function chosenCases(results: readonly BenchResult[]): readonly ChosenCase[] {
	const chosen = new Map<string, ChosenCase>();
	for (const from of results)
		for (const one of from.cases) chosen.set(one.name, { one, from });
	return [...chosen.values()];
}

/** @param results - At least one. */
export function benchmarksPage(results: readonly BenchResult[]): string {
	const [first] = results;
	if (first === undefined) throw new TypeError("There is no run.");
	return `# Benchmarks

Measured by

${results.map((result) => `- ${origin(result)}`).join("\n")}

and written here by \`bench --docs\`: nothing on this page is typed by hand. A load is what others did, or the run before. Each row is measured in a fresh process, the runs of all rows of a case interleaved: medians
with the least and the most of all runs. Compare rows within a case; absolute figures are this machine's.

${machineLines(first).join("  \n")}

![Medians of each case, with the least and the most](benchmarks.svg)

**limit** is what the machine allows, **bare** what one would write without a pool; aims are what the project wants of
itself, met or not.

${chosenCases(results)
	.map((chosen) => section(chosen, chosen.from !== first))
	.join("\n\n")}
`;
}

function origin(result: BenchResult): string {
	const { command, startedAt } = result;
	return `\`${command}\` on ${startedAt.slice(0, 10)} (${loadBefore(result)})`;
}

function section({ one, from }: ChosenCase, isOfAnotherRun: boolean): string {
	const [head = [], ...lines] = cellsOf(one);
	const table = [
		row(head),
		row(head.map((_, column) => (column === 0 ? "---" : "---:"))),
		...lines.map((line) => row([...line, ...head.slice(line.length).fill("")])),
	];
	const failed = one.rows.flatMap(({ name, problem, figures }) =>
		problem !== undefined && Object.keys(figures).length > 0
			? [`- ${name}: ${problem}`]
			: [],
	);
	const aims = one.aims.map((aim) => `- ${aimLine(aim)}`);
	return [
		`## ${one.title}`,
		`${one.about} (\`${one.name}\`, ${one.runs === 1 ? "1 run" : `${one.runs} runs`})`,
		isOfAnotherRun ? `By ${origin(from)}.` : "",
		table.join("\n"),
		[...failed, ...aims].join("\n"),
	]
		.filter((part) => part !== "")
		.join("\n\n");
}

function row(cells: readonly string[]): string {
	return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("<", "&lt;")).join(" | ")} |`;
}
