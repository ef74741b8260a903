import { DEFAULTS } from "../option-defaults.ts";

/** How much of the past is kept. */
export interface HistoryBound {
	readonly runs: number;
	readonly ageMs: number;
}

export const HISTORY_BOUND: HistoryBound = {
	runs: DEFAULTS["history.runs"].value,
	ageMs: DEFAULTS["history.ageMs"].value,
};
