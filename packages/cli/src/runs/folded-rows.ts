import { dayAndTime, timeOfDay, whole } from "../wording/figures.ts";

/** What happened again and again, as one row. */
export interface FoldedRow<Each> {
	/** The last one. */
	readonly last: Each;
	/** All of them, the latest first. */
	readonly all: readonly Each[];
}

/** Two workers of a pool that crash by turns are two rows, and not as many as crashes. */
const NEAR = 4;

/**
 * Folds what is alike and follows each other, or nearly, into one row.
 *
 * @param items the latest first.
 * @param keyOf is equal for those that are alike.
 */
export function foldedRows<Each>(
	items: readonly Each[],
	keyOf: (item: Each) => string,
): readonly FoldedRow<Each>[] {
	const rows: { readonly key: string; readonly all: [Each, ...Each[]] }[] = [];
	for (const item of items) {
		const key = keyOf(item);
		const row = rows.slice(-NEAR).find((each) => each.key === key);
		if (row === undefined) rows.push({ key, all: [item] });
		else row.all.push(item);
	}
	return rows.map(({ all }) => ({ last: all[0], all }));
}

/** A text without what differs each time that the same happens: pids, times, durations, calls and addresses. */
export function alikeText(text: string): string {
	return text
		.replace(/\bpid \d+/g, "pid")
		.replace(/\b\d{4}-\d\d-\d\d\b/g, "day")
		.replace(/\b\d\d:\d\d:\d\d\b/g, "time")
		.replace(/\b\d[\d.,]*(?: (?:ms|s|min|h|d)\b)+/g, "duration")
		.replace(/\b0x[0-9a-f]+\b/g, "address")
		.replace(/\bc\d+\b/g, "call");
}

/** How often it happened, and since when: "(12 times since 08:36:40)". @param firstMs of the first, @param lastMs of the last time. */
export function timesText(
	count: number,
	firstMs: number,
	lastMs: number,
): string {
	const isOneDay =
		new Date(firstMs).toDateString() === new Date(lastMs).toDateString();
	return `(${whole(count)} times since ${isOneDay ? timeOfDay(firstMs) : dayAndTime(firstMs)})`;
}
