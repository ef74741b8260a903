import { bareName } from "../contestants/bare-grpc.ts";
import { ourName } from "../contestants/ours.ts";
import { peers } from "../contestants/peers.ts";
import type { CaseResult } from "../result.ts";
import { formatFigure } from "./format-figure.ts";
import { markdownTable } from "./markdown-table.ts";

/** What a newcomer asks. One figure of one case answers it. */
export interface Question {
	readonly text: string;
	readonly case: string;
	readonly figure: string;
	/** Rows of the case. */
	readonly ours: string;
	readonly others: readonly string[];
}

const ours = ourName("framed");
const oursAsync = ourName("framed", "async");
const bare = [bareName("threads"), bareName("asyncio")];
/** They call Python in another process, as ours does: a crash there does not end the program. */
const outsideNode = ["python-shell", "pythonia"];
const pythonPeers = peers
	.filter(({ needs }) => outsideNode.includes(needs?.peer ?? ""))
	.map(({ name }) => name);

const atOnce = { case: "throughput", figure: "calls_per_s_16" };
const withOneWorker = [...bare, ...pythonPeers].map(
	(name) => `${name}, 1 worker`,
);
const large = {
	case: "values",
	ours: `${ours}, 10 MB`,
	others: [bareName(), "python-shell, JSON lines"].map(
		(name) => `${name}, 10 MB`,
	),
};
const startUp = { case: "start", ours, others: ["bare grpcio server"] };

export const QUESTIONS: readonly Question[] = [
	{
		text: "How long does one small call take?",
		case: "small-call",
		figure: "p50_us",
		ours,
		others: [...bare, ...pythonPeers],
	},
	{
		...atOnce,
		text: "How many small calls a second does one worker answer, with a plain `def`?",
		ours: `${ours}, 1 worker`,
		others: withOneWorker,
	},
	{
		...atOnce,
		text: "And with an `async def`?",
		ours: `${oursAsync}, 1 worker`,
		others: withOneWorker,
	},
	{
		...large,
		text: "How fast do 10 MB of bytes go to Python and back?",
		figure: "echo_mb_s",
	},
	{
		...large,
		text: "How fast does a numpy array of 10 MB go to Python and back?",
		figure: "array_mb_s",
	},
	{
		text: "How many small items a second does a Python generator stream?",
		case: "streams",
		figure: "small_items_s",
		ours,
		others: [bareName()],
	},
	{
		...startUp,
		text: "How long until one worker is ready?",
		figure: "ready_1_ms",
	},
	{
		...startUp,
		text: "How long until 100 workers are ready?",
		figure: "ready_100_ms",
	},
	{
		...startUp,
		text: "How much memory does each of 100 workers take?",
		figure: "pss_mb",
	},
	{
		text: "The only worker is killed: how long until the next call is answered?",
		case: "replace",
		figure: "without_capacity_ms",
		ours: `${ours}, one worker`,
		others: ["bare grpcio server, started again"],
	},
];

/** A table that answers every question from the medians of some cases. */
export function overview(cases: readonly CaseResult[]): string {
	return markdownTable(
		["", "Snakepit", "the best other", "Snakepit is"],
		QUESTIONS.map((question) => [question.text, ...answer(question, cases)]),
	);
}

function answer(
	{ case: name, figure, ours: ourRow, others }: Question,
	cases: readonly CaseResult[],
): readonly string[] {
	const found = cases.find((each) => each.name === name);
	const spec = found?.figures[figure];
	const medianOf = (row: string): number | undefined =>
		found?.rows.find((each) => each.name === row)?.figures[figure]?.median;
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
	const shown = (value: number): string =>
		`${formatFigure(value)} ${spec.unit}`;
	const gain = (best.median / our) ** sign;
	return [
		shown(our),
		`${shown(best.median)} (${best.row})`,
		gain >= 1
			? `${formatFigure(gain)} times better`
			: `${formatFigure(1 / gain)} times worse`,
	];
}
