import { count } from "./figures.ts";
import type { Line } from "./line.ts";

/** How far the work is. */
export interface Progress {
	/** What is being done, for people. */
	readonly doing: string;
	readonly done: number;
	readonly total: number;
	/** How many a second so far; `undefined` where that says nothing. */
	readonly perSecond: number | undefined;
}

const SHORTEST_BAR = 8;
const LONGEST_BAR = 40;

/** Draws one line: what is done, a bar, figures. Where there is less room the rate goes, then the words, then the bar. */
export function drawProgressBar(progress: Progress, columns: number): Line {
	const { doing, done, total, perSecond } = progress;
	const of = count(total);
	// As wide at the first as at the last, so that the bar keeps its length.
	const figures = `${count(done).padStart(of.length)} of ${of}`;
	const rate =
		perSecond === undefined ? "" : `  ${count(perSecond).padStart(5)}/s`;
	const forms = [
		{ before: `${doing}  `, after: rate },
		{ before: `${doing}  `, after: "" },
		{ before: "", after: "" },
	];
	for (const { before, after } of forms) {
		const room = columns - before.length - 2 - figures.length - after.length;
		if (room < SHORTEST_BAR) continue;
		return [
			["plain", before],
			...drawBar(done / Math.max(1, total), Math.min(room, LONGEST_BAR)),
			["strong", `  ${figures}`],
			["faint", after],
		];
	}
	return [["strong", figures.trimStart().slice(0, columns)]];
}

/** A bar that is full only when all is done. */
export function drawBar(share: number, width: number): Line {
	const full = Math.floor(Math.min(1, Math.max(0, share)) * width);
	return [
		["good", "━".repeat(full)],
		["faint", "─".repeat(width - full)],
	];
}

/** The same as plain text, for places that keep every line. */
export function sayProgress({ doing, done, total }: Progress): string {
	const share = Math.floor((100 * done) / Math.max(1, total));
	return `${String(share).padStart(3)} %  ${doing}: ${count(done)} of ${count(total)}`;
}

/** How much is done according to a line of {@link sayProgress}, as a share of 1; `undefined` for any other line. */
export function shareIn(line: string): number | undefined {
	const [, percent] = /^ *(\d+) % {2}/.exec(line) ?? [];
	return percent === undefined ? undefined : Number(percent) / 100;
}
