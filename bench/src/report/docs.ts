import type { Machine } from "../machine.ts";
import type { BenchResult, CaseResult } from "../result.ts";
import { aimLine, cellsOf } from "./cells.ts";
import { markdownTable } from "./markdown-table.ts";
import { overview } from "./overview.ts";
import { loadBefore, machineLines } from "./table.ts";

/**
 * The page docs/benchmarks.md.
 *
 * @param results - At least one, each with the cases to show of it.
 */
export function benchmarksPage(results: readonly BenchResult[]): string {
	const [first] = results;
	if (first === undefined) throw new TypeError("There is no run.");
	const peers = Object.assign({}, ...results.map((result) => result.peers));
	const isOfOneMachine = results.every(
		({ machine, peers: found }) =>
			nameOf(machine) === nameOf(first.machine) &&
			Object.entries(found).every(([name, version]) => peers[name] === version),
	);
	return `# Benchmarks

${overview(results.flatMap((result) => result.cases))}

Each figure is a median from a section below. Snakepit is \`python({ tools })\` with the defaults of the day on which that
section was measured. "Best other" is the best package that runs Python in another process, as Snakepit does; the
sections also show Python inside Node, and pools of JavaScript.
[Chaos results](chaos-results.md) show how soon workers end when their host dies.

This page is generated from the [results](../bench/results) of \`npx pnpm@12 bench\`. Each row is measured in a fresh
process, and the runs of all rows of a case are interleaved. The tables show medians, with the minimum and the maximum of
all runs. Compare rows within a case; absolute figures depend on the machine. A load comes from other programs, or
from the run before.

The rows of asynchronous tools are from before each asynchronous call had a task of its own. Such a call costs more
since: [decision 0040](decisions/0040-one-task-for-many-coroutines.md) has the figures.

${isOfOneMachine ? machineLines({ ...first, peers }).join("  \n") : "Each case names its machine."}

![Medians of each case, with minimum and maximum](benchmarks.svg)

**limit** is what the machine allows; **bare** is what you would write without a pool. Aims are the project's own goals,
met or not.

${results
	.flatMap((result) => result.cases.map((one) => section(one, result)))
	.map(({ text, machine }) => (isOfOneMachine ? text : `${text}\n\n${machine}`))
	.join("\n\n")}
`;
}

/** What makes one machine, or what is installed there, differ from another; its load does not. */
function nameOf({ loadBefore: _, ...machine }: Machine): string {
	return JSON.stringify(machine);
}

function section(one: CaseResult, from: BenchResult) {
	const [head = [], ...lines] = cellsOf(one);
	const failed = one.rows.flatMap(({ name, problem, figures }) =>
		problem !== undefined && Object.keys(figures).length > 0
			? [`- ${name}: ${problem}`]
			: [],
	);
	const aims = one.aims.map((aim) => `- ${aimLine(aim)}`);
	const text = [
		`## ${one.title}`,
		one.about,
		`${one.runs === 1 ? "1 run" : `${one.runs} runs`} by ${origin(from)}${isReadBack(one) ? ", read back, rounded, from this page as it was then" : ""}.`,
		markdownTable(head, lines),
		[...failed, ...aims].join("\n"),
	]
		.filter((part) => part !== "")
		.join("\n\n");
	return { text, machine: machineLines(from).join("  \n") };
}

/** Whether what the runs found is not there any more, but in the figures of an earlier page. */
function isReadBack({ rows }: CaseResult): boolean {
	return rows.some(({ figures }) =>
		Object.values(figures).some(({ samples }) => samples === undefined),
	);
}

function origin(result: BenchResult): string {
	const { command, startedAt } = result;
	return `\`${command}\` on ${startedAt.slice(0, 10)} (${loadBefore(result)})`;
}
