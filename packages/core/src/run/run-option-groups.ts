import { milliseconds, oneOf, wholeNumber } from "../options/check.ts";
import type { Defaults } from "../options/groups.ts";

/**
 * Regular checks, while the run is open, for processes of the run that belong to none of its workers, and for workers
 * whose process is gone.
 */
export interface AuditOptions {
	/** Time between two checks. @default 30 000 ms */
	readonly intervalMs?: number | undefined;
	/** What happens to a process that belongs to no worker. @default "reported" */
	readonly strays?: "reported" | "killed" | undefined;
}

export const AUDIT_DEFAULTS: Defaults<AuditOptions> = {
	intervalMs: {
		value: 30_000,
		check: milliseconds(100),
		reason:
			"rare enough that reading the process table costs nothing, often enough to keep the ledger accurate",
	},
	strays: {
		value: "reported",
		check: oneOf("reported", "killed"),
		reason: "a tool may have left a process on purpose",
	},
};

/** What the ledger keeps of runs that have ended, as `readHistory` returns it. Past runs are removed when a run is opened. */
export interface HistoryBoundOptions {
	/** The oldest beyond this number are removed. @default 200 */
	readonly runs?: number | undefined;
	/** Older ones are removed. @default 2 592 000 000 ms (30 days) */
	readonly ageMs?: number | undefined;
	/** Whether this run records what the program was called with (`process.argv`), what its workers printed before they died, and the name of their last command. @default "recorded" */
	readonly content?: "recorded" | "left_out" | undefined;
}

export const HISTORY_DEFAULTS: Defaults<HistoryBoundOptions> = {
	runs: {
		value: 200,
		check: wholeNumber(0, 100_000),
		reason: "a few megabytes",
	},
	ageMs: {
		value: 30 * 24 * 60 * 60 * 1000,
		check: wholeNumber(0),
		reason: "a month shows a pattern",
	},
	content: {
		value: "recorded",
		check: oneOf("recorded", "left_out"),
		reason:
			"it explains a crash during the night, in a file that only this user can read",
	},
};

/** How many jobs run at the same time, and how many may wait, in the whole run. */
export interface JobsOptions {
	/** Further jobs wait in order. By default, the number of processors. */
	readonly concurrency?: number | undefined;
	/** Further jobs are rejected with `JOB_QUEUE_FULL`. @default 1 000 */
	readonly queueLimit?: number | undefined;
}

export const JOBS_DEFAULTS: Defaults<JobsOptions, "concurrency"> = {
	concurrency: {
		value: undefined,
		check: wholeNumber(1, 10_000),
		reason: "more computing programs than processors only slow each other down",
	},
	queueLimit: {
		value: 1_000,
		check: wholeNumber(0),
		reason: "it slows a server's clients down before memory runs out",
	},
};
