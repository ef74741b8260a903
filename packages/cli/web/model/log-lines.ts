import type { LogBatchRecord, PageLogLine } from "../../src/dash/run-routes.ts";

/** The lines that the page keeps. */
export interface LogLines {
	/** Oldest first. */
	readonly lines: readonly NumberedLine[];
	/** How many the page has got. */
	readonly received: number;
	/** How many lines the page did not get, because there were too many together. */
	readonly leftOut: number;
	/** Some lines are from before the view or its filter changed: lines printed in between are missing. */
	readonly hasGap: boolean;
}

/** Whose lines are shown; `""` stands for all. */
export interface LogFilter {
	readonly worker: string;
	readonly call: string;
	readonly pool: string;
}

export interface NumberedLine extends PageLogLine {
	readonly number: number;
}

export const NO_LINES: LogLines = {
	...{ lines: [], received: 0, leftOut: 0, hasGap: false },
};

/** The most lines that the page keeps. */
export const KEPT_LINES = 5_000;

export function withLines(
	{ lines, received, leftOut, hasGap }: LogLines,
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
		hasGap,
	};
}

/** The lines that remain when the view is opened again, or another filter is chosen. */
export function carriedLines(
	{ lines }: LogLines,
	{ worker, call, pool }: LogFilter,
): LogLines {
	const carried = lines
		.filter(
			(line) =>
				(worker === "" || line.workerId === worker) &&
				(call === "" || line.callId === call) &&
				(pool === "" || line.pool === pool),
		)
		.map((line, number) => ({ ...line, number }));
	return {
		...{ lines: carried, received: carried.length, leftOut: 0 },
		hasGap: carried.length > 0,
	};
}

/** The lines that contain a text, ignoring case. */
export function withText(
	lines: readonly NumberedLine[],
	text: string,
): readonly NumberedLine[] {
	if (text === "") return lines;
	const wanted = text.toLowerCase();
	return lines.filter((line) => line.text.toLowerCase().includes(wanted));
}

/** Which rows of equal height are visible. */
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
