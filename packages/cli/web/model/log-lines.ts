import type { LogBatchRecord, PageLogLine } from "../../src/dash/log-batch.ts";

/** The lines that the page keeps. */
export interface LogLines {
	/** Oldest first. */
	readonly lines: readonly NumberedLine[];
	/** How many the page has got. */
	readonly received: number;
	/** How many it did not get: there were too many at a time. */
	readonly leftOut: number;
}

export interface NumberedLine extends PageLogLine {
	readonly number: number;
}

export const NO_LINES: LogLines = { lines: [], received: 0, leftOut: 0 };

/** The page keeps so many lines. */
export const KEPT_LINES = 5_000;

export function withLines(
	{ lines, received, leftOut }: LogLines,
	batch: LogBatchRecord,
): LogLines {
	const added = batch.lines.map((line, index) => ({
		...line,
		number: received + index,
	}));
	return {
		lines: [...lines, ...added].slice(-KEPT_LINES),
		received: received + added.length,
		leftOut: leftOut + batch.leftOut,
	};
}

/** The lines that have a text, in any case. */
export function withText(
	lines: readonly NumberedLine[],
	text: string,
): readonly NumberedLine[] {
	if (text === "") return lines;
	const wanted = text.toLowerCase();
	return lines.filter((line) => line.text.toLowerCase().includes(wanted));
}

/** Which rows of equal height are in sight. */
export function rowsInSight(
	rows: number,
	rowHeight: number,
	scrollTop: number,
	height: number,
): { readonly first: number; readonly end: number } {
	const first = Math.max(0, Math.floor(scrollTop / rowHeight) - 5);
	const count = Math.ceil(height / rowHeight) + 10;
	return { first, end: Math.min(rows, first + count) };
}
