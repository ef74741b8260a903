import type { CaseSummary } from "./summary.ts";

const COLUMNS: readonly (readonly [
	head: string,
	width: number,
	cell: (summary: CaseSummary) => string,
])[] = [
	["case", 54, ({ name }) => name],
	["protections", 16, ({ protections }) => protections],
	["rounds", 6, ({ rounds }) => String(rounds)],
	["leftovers", 9, ({ leftovers }) => String(leftovers)],
	["p50", 8, ({ times }) => milliseconds(times?.p50Ms)],
	["p99", 8, ({ times }) => milliseconds(times?.p99Ms)],
	["max", 8, ({ times }) => milliseconds(times?.maxMs)],
	["wrong", 5, ({ wrongKills }) => String(wrongKills)],
	["false", 5, ({ falseKills }) => String(falseKills)],
	[
		"verdict",
		0,
		({ verdict, note }) => [verdict, note].filter(Boolean).join(": "),
	],
];

/** The heads of the columns of `cells`. */
export const HEADS: readonly string[] = COLUMNS.map(([head]) => head);

/** A case as a row of a table: texts in the order of the columns. */
export function cells(summary: CaseSummary): readonly string[] {
	return COLUMNS.map(([, , cell]) => cell(summary));
}

/** One row of the table on the terminal: numbers to the right, texts to the left. */
export function terminalLine(texts: readonly string[]): string {
	return COLUMNS.map(([head, width], at) =>
		["case", "protections", "verdict"].includes(head)
			? texts[at]?.padEnd(width)
			: texts[at]?.padStart(width),
	).join(" ");
}

function milliseconds(value: number | undefined): string {
	if (value === undefined) return "";
	return value < 100 ? value.toFixed(1) : String(Math.round(value));
}
