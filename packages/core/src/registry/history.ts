import { statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { fileNamesIn, type LedgerDirectory } from "./ledger-directory.ts";

/** How much of the past is kept. */
export interface HistoryBound {
	readonly runs: number;
	readonly ageMs: number;
}

export interface HistoryFile {
	readonly fileName: string;
	readonly modifiedAt: number;
}

/** Decides which files of the history go: the too old ones, and the oldest beyond the number. */
export function surplusHistory(
	files: readonly HistoryFile[],
	nowMs: number,
	bound: HistoryBound,
): readonly string[] {
	return files
		.toSorted((a, b) => b.modifiedAt - a.modifiedAt)
		.filter(
			({ modifiedAt }, index) =>
				index >= bound.runs || nowMs - modifiedAt > bound.ageMs,
		)
		.map((file) => file.fileName);
}

/** Removes what exceeds the bound. What cannot be removed stays: another start may do it at the same time. */
export function boundHistory(
	directory: LedgerDirectory,
	nowMs: number,
	bound: HistoryBound,
): void {
	const files = fileNamesIn(directory.history).flatMap((fileName) => {
		const stats = statSync(join(directory.history, fileName), {
			throwIfNoEntry: false,
		});
		return stats === undefined ? [] : [{ fileName, modifiedAt: stats.mtimeMs }];
	});
	for (const fileName of surplusHistory(files, nowMs, bound)) {
		try {
			unlinkSync(join(directory.history, fileName));
		} catch {
			// Removed by another start, or not ours to remove.
		}
	}
}
