import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../scripts/run.ts";
import type { BenchResult, CaseResult } from "../result.ts";
import { aimLine, cellsOf } from "./cells.ts";
import { drawPlot } from "./plot.ts";
import { machineLines } from "./table.ts";

/** Writes docs/benchmarks.md and its plot from one run. */
export function writeDocs(result: BenchResult): void {
	writeFileSync(join(root, "docs/benchmarks.md"), benchmarksPage(result));
	writeFileSync(join(root, "docs/benchmarks.svg"), drawPlot(result));
}

export function benchmarksPage(result: BenchResult): string {
	return `# Benchmarks

Measured by \`${result.command}\` on ${result.startedAt.slice(0, 10)} and written here by \`bench --docs\`: nothing on this
page is typed by hand. Each row is measured in a fresh process, the runs of all rows of a case interleaved: medians
with the least and the most of all runs. Compare rows within a case; absolute figures are this machine's.

${machineLines(result).join("  \n")}

![Medians of each case, with the least and the most](benchmarks.svg)

**limit** is what the machine allows, **bare** what one would write without a pool; aims are what the project wants of
itself, met or not.

${result.cases.map(section).join("\n\n")}
`;
}

function section(one: CaseResult): string {
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
		`${one.about} (\`${one.name}\`, ${one.runs} runs)`,
		table.join("\n"),
		[...failed, ...aims].join("\n"),
	]
		.filter((part) => part !== "")
		.join("\n\n");
}

function row(cells: readonly string[]): string {
	return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("<", "&lt;")).join(" | ")} |`;
}
