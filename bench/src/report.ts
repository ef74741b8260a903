import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { markdownTable } from "../../scripts/markdown-table.ts";
import { root } from "../../scripts/run.ts";
import { cases } from "./cases.ts";
import { bareName } from "./contestants/bare-grpc.ts";
import { ourName } from "./contestants/ours.ts";
import { peers } from "./contestants/peers.ts";
import type { BenchResult, CaseResult, Spread } from "./run.ts";

/** The results behind docs/benchmarks.md: one file for each case. */
const DIRECTORY = join(root, "bench/results");

/** What a newcomer asks. One figure of one case answers it. */
interface Question {
	readonly text: string;
	readonly case: string;
	readonly figure: string;
	/** Rows of the case. */
	readonly ours: string;
	readonly others: readonly string[];
}

const ours = ourName("framed");
const bare = [bareName("threads"), bareName("asyncio")];
/** They call Python in another process, as ours does: a crash there does not end the program. */
const outsideNode = ["python-shell", "pythonia"];
const pythonPeers = peers
	.filter(({ needs }) => outsideNode.includes(needs?.peer ?? ""))
	.map(({ name }) => name);
const oneWorker = {
	case: "throughput",
	figure: "calls_per_s_16",
	others: [...bare, ...pythonPeers].map((name) => `${name}, 1 worker`),
};
const large = {
	case: "values",
	ours: `${ours}, 10 MB`,
	others: [`${bareName()}, 10 MB`, "python-shell, JSON lines, 10 MB"],
};
const startUp = { case: "start", ours, others: ["bare grpcio server"] };

export const QUESTIONS: readonly Question[] = [
	{
		text: "How long does one small call take?",
		...{ case: "small-call", figure: "p50_us" },
		...{ ours, others: [...bare, ...pythonPeers] },
	},
	{
		text: "How many small calls a second does one worker answer, with a plain `def`?",
		...{ ...oneWorker, ours: `${ours}, 1 worker` },
	},
	{
		text: "And with an `async def`?",
		...{ ...oneWorker, ours: `${ourName("framed", "async")}, 1 worker` },
	},
	{
		text: "How fast do 10 MB of bytes go to Python and back?",
		...{ ...large, figure: "echo_mb_s" },
	},
	{
		text: "How fast does a numpy array of 10 MB go to Python and back?",
		...{ ...large, figure: "array_mb_s" },
	},
	{
		text: "How many small items a second does a Python generator stream?",
		...{ case: "streams", figure: "small_items_s" },
		...{ ours, others: [bareName()] },
	},
	{
		text: "How long until one worker is ready?",
		...{ ...startUp, figure: "ready_1_ms" },
	},
	{
		text: "How long until 100 workers are ready?",
		...{ ...startUp, figure: "ready_100_ms" },
	},
	{
		text: "How much memory does each of 100 workers take?",
		...{ ...startUp, figure: "pss_mb" },
	},
	{
		text: "The only worker is killed: how long until the next call is answered?",
		...{ case: "replace", figure: "without_capacity_ms" },
		ours: `${ours}, one worker`,
		others: ["bare grpcio server, started again"],
	},
];

/**
 * The page docs/benchmarks.md.
 *
 * @param results - At least one, each with the cases to show of it.
 */
export function benchmarksPage(results: readonly BenchResult[]): string {
	const machines = new Map<string, number>();
	for (const result of results) {
		const line = machineLine(result);
		machines.set(line, (machines.get(line) ?? 0) + 1);
	}
	const [[usual] = [""]] = [...machines].toSorted(([, a], [, b]) => b - a);
	const versions = Object.assign({}, ...results.map(({ peers }) => peers));
	const sections = results.flatMap((result) => {
		const line = machineLine(result);
		const elsewhere = line === usual ? "" : ` Measured with ${line}.`;
		return result.cases.map((one) => section(one, result, elsewhere));
	});
	return `# Benchmarks

${overview(results.flatMap((result) => result.cases))}

Snakepit is \`python({ tools })\` with the defaults of the day on which a section was measured. "Best other" is the best
package that runs Python in another process, as Snakepit does. [Chaos results](chaos-results.md) show how soon workers
end when their host dies.

The tables show the median of all runs, with the minimum and the maximum. **limit** is what the machine allows; **bare**
is what you would write without a pool. Compare rows within a case: absolute figures depend on the machine. How each
case is measured: [bench](../bench/README.md), from whose [results](../bench/results) this page is generated.

The rows of asynchronous tools, except those of "Small calls, many at a time", are from before each asynchronous call
had a task of its own. Such a call costs more since: [decision
0040](decisions/0040-one-task-for-many-coroutines.md) has the figures.

${usual}; ${pairs(versions)}.

${sections.join("\n\n")}
`;
}

/** A case: its question, its run, its table, and the rows that failed in part. */
export function section(
	one: CaseResult,
	{ command, startedAt, machine }: BenchResult,
	elsewhere = "",
): string {
	const { name, runs, rows } = one;
	const { title, about } = cases.find((each) => each.name === name) ?? one;
	const failed = rows.flatMap(({ name, problem, figures }) =>
		problem !== undefined && Object.keys(figures).length > 0
			? [`- ${name}: ${problem}`]
			: [],
	);
	return [
		`## ${title}`,
		about,
		`${runs === 1 ? "1 run" : `${runs} runs`} by \`${command}\` on ${startedAt.slice(0, 10)} (load average of the minute before: ${machine.loadBefore}).${elsewhere}`,
		tableOf(one),
		...(failed.length === 0 ? [] : [failed.join("\n")]),
	].join("\n\n");
}

/** The machine and the versions on it, without its load and the peers. */
export function machineLine({ machine, quick }: BenchResult): string {
	const { processor, processors, memoryGb, kernel, versions } = machine;
	return `${quick ? "Quick, for a look only: " : ""}${processor}, ${processors} processors, ${memoryGb} GB, ${kernel}; ${pairs(versions)}`;
}

function pairs(versions: Readonly<Record<string, string>>): string {
	return Object.entries(versions)
		.map((pair) => pair.join(" "))
		.join(", ");
}

/** A table that answers every question from the medians of some cases. */
export function overview(results: readonly CaseResult[]): string {
	return markdownTable(
		["", "Snakepit", "the best other", "Snakepit is"],
		QUESTIONS.map((question) => [question.text, ...answer(question, results)]),
		"---:",
	);
}

function answer(
	{ case: name, figure, ours: ourRow, others }: Question,
	results: readonly CaseResult[],
): readonly string[] {
	const result = results.find((each) => each.name === name);
	const spec = result?.figures[figure];
	const medianOf = (row: string): number | undefined =>
		result?.rows.find((each) => each.name === row)?.figures[figure]?.median;
	const sign = spec?.better === "lower" ? 1 : -1;
	const [best] = others
		.flatMap((row) => {
			const median = medianOf(row);
			return median === undefined ? [] : [{ row, median }];
		})
		.toSorted((a, b) => sign * (a.median - b.median));
	const our = medianOf(ourRow);
	if (spec === undefined || our === undefined || best === undefined)
		return ["not measured", "", ""];
	const gain = (best.median / our) ** sign;
	return [
		`${formatFigure(our)} ${spec.unit}`,
		`${formatFigure(best.median)} ${spec.unit} (${best.row})`,
		gain >= 1
			? `${formatFigure(gain)} times better`
			: `${formatFigure(1 / gain)} times worse`,
	];
}

/** The rows of a case and their figures. */
function tableOf({ figures, rows }: CaseResult): string {
	const measured = Object.entries(figures).filter(([figure]) =>
		rows.some((row) => row.figures[figure] !== undefined),
	);
	return markdownTable(
		["", ...measured.map(([, { title, unit }]) => `${title} [${unit}]`)],
		rows.map(({ name, figures: values, problem }) =>
			Object.keys(values).length === 0
				? [name, problem ?? "nothing measured"]
				: [name, ...measured.map(([figure]) => formatSpread(values[figure]))],
		),
		"---:",
	).replaceAll("<", "&lt;");
}

function formatSpread(spread: Spread | undefined): string {
	if (spread === undefined) return "";
	const { median, min, max } = spread;
	const middle = formatFigure(median);
	return min === max
		? middle
		: `${middle} (${formatFigure(min)} - ${formatFigure(max)})`;
}

/** A figure to three significant digits, without an exponent. */
function formatFigure(value: number): string {
	if (!Number.isFinite(value)) return "-";
	const size = Math.abs(value);
	if (size >= 100) return Math.round(value).toLocaleString("en-US");
	if (size >= 10) return value.toFixed(1);
	if (size >= 1) return value.toFixed(2);
	return size === 0 ? "0" : String(Number(value.toPrecision(2)));
}

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
			writeFileSync(join(directory, `${one.name}.json`), text);
		}
}

/** Formats a result as JSON. */
export function formatResult(result: BenchResult): string {
	return `${JSON.stringify(result, undefined, "\t")}\n`;
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
