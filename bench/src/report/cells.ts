import type { AimResult, CaseResult, Spread } from "../result.ts";
import { formatFigure } from "./format-figure.ts";

/** A case as a table of texts: a head, and a line for each row. */
export function cellsOf({ figures, rows }: CaseResult): string[][] {
	const measured = Object.entries(figures).filter(([figure]) =>
		rows.some((row) => row.figures[figure] !== undefined),
	);
	const head = measured.map(([, { title, unit }]) => `${title} [${unit}]`);
	const lines = rows.map(({ name, figures: found, problem }) =>
		Object.keys(found).length === 0
			? [name, problem ?? "nothing measured"]
			: [name, ...measured.map(([figure]) => cell(found[figure]))],
	);
	return [["", ...head], ...lines];
}

/** The median, and the least and the most of all runs. */
function cell(spread: Spread | undefined): string {
	if (spread === undefined) return "";
	const { median, min, max } = spread;
	const middle = formatFigure(median);
	return min === max
		? middle
		: `${middle} (${formatFigure(min)} - ${formatFigure(max)})`;
}

/** An aim and what came of it, in one line. */
export function aimLine(aim: AimResult): string {
	const { text, unit, atMost, atLeast, value, verdict } = aim;
	const bounds = [
		atMost === undefined ? [] : `<= ${formatFigure(atMost)} ${unit}`,
		atLeast === undefined ? [] : `>= ${formatFigure(atLeast)} ${unit}`,
	].flat();
	const aimed = bounds.length === 0 ? "" : `, aim ${bounds.join(" and ")}`;
	const found = value === undefined ? "" : `: ${formatFigure(value)} ${unit}`;
	const said = verdict === "stated" ? "" : `: ${verdict}`;
	return `${text}${aimed}${said}${found}`;
}
