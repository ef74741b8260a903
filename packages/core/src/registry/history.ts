import { statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { DEFAULTS } from "../option-defaults.ts";
import { fileNamesIn, type LedgerDirectory } from "./ledger-directory.ts";
import type { RunRecord } from "./process-registry.ts";
import { readRunFile } from "./read-run-file.ts";
import { type RunName, runPath } from "./run-name.ts";
import type { Sqlite } from "./sqlite.ts";

/** How much of the past is kept. */
export interface HistoryBound {
	readonly runs: number;
	readonly ageMs: number;
}

export const HISTORY_BOUND: HistoryBound = {
	runs: DEFAULTS["history.runs"].value,
	ageMs: DEFAULTS["history.ageMs"].value,
};

export interface HistoryFile {
	readonly fileName: string;
	readonly modifiedAt: number;
}

/** Decides which files of the history go: the too old ones, and the oldest beyond the number. */
export function surplusHistory(
	files: readonly HistoryFile[],
	nowMs: number,
	bound: HistoryBound = HISTORY_BOUND,
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
	bound: HistoryBound = HISTORY_BOUND,
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

/**
 * Reads every run of a directory that can be read, newest first.
 *
 * The living runs of this very process are left out: their files must not be
 * opened twice in it.
 */
export function readRuns(
	sqlite: Sqlite,
	directory: LedgerDirectory,
	ownKey: string,
): readonly RunRecord[] {
	const read = (folder: string, names: readonly RunName[]): RunRecord[] =>
		names.flatMap((name) => {
			const path = runPath(folder, name, "db");
			const content = readRunFile(sqlite, path, name, "none");
			if (content.kind !== "readable") return [];
			const { directory: _, claimedBy: __, ...record } = content.run;
			return [record];
		});
	return [
		...read(
			directory.runs,
			directory.openRuns().filter((name) => name.ownerKey !== ownKey),
		),
		...read(directory.history, directory.endedRuns()),
	].sort((a, b) => b.startedAt - a.startedAt);
}
