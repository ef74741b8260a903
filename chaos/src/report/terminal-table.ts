import type { CaseSummary } from "../figures/summary.ts";

const COLUMNS = [
	"case",
	"protections",
	"rounds",
	"leftovers",
	"p50",
	"p99",
	"max",
	"wrong",
	"false",
	"verdict",
] as const;

/** What a case is in a table: texts in the order of the columns. */
export function cells(summary: CaseSummary): readonly string[] {
	const { times } = summary;
	return [
		summary.name,
		summary.protections,
		String(summary.rounds),
		String(summary.leftovers),
		milliseconds(times?.p50Ms),
		milliseconds(times?.p99Ms),
		milliseconds(times?.maxMs),
		String(summary.wrongKills),
		String(summary.falseKills),
		[summary.verdict, summary.note].filter(Boolean).join(": "),
	];
}

/** The heads of the columns of `cells`. */
export const heads: readonly string[] = COLUMNS;

/** One line of the table on the terminal. */
export function terminalLine(texts: readonly string[]): string {
	const widths = [54, 16, 6, 9, 8, 8, 8, 5, 5, 0];
	return texts
		.map((text, at) => {
			const width = widths[at] ?? 0;
			return at < 2 || at === 9 ? text.padEnd(width) : text.padStart(width);
		})
		.join(" ");
}

function milliseconds(value: number | undefined): string {
	if (value === undefined) return "";
	return value < 100 ? value.toFixed(1) : String(Math.round(value));
}
