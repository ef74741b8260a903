import type { CaseSummary } from "./summary.ts";

/**
 * The cases of several runs, in the order of the first. Counts are of all runs
 * together, so that no later run hides what an earlier one found; times are of
 * the last one that measured them.
 */
export function joinRuns(
	runs: readonly (readonly CaseSummary[])[],
): readonly CaseSummary[] {
	const joined = new Map<string, CaseSummary>();
	for (const summary of runs.flat()) {
		const key = [summary.row, summary.name, summary.protections].join("|");
		const before = joined.get(key);
		joined.set(key, before ? join(before, summary) : summary);
	}
	return [...joined.values()];
}

function join(before: CaseSummary, after: CaseSummary): CaseSummary {
	if (after.verdict === "skipped") return before;
	if (before.verdict === "skipped") return after;
	return {
		...after,
		rounds: before.rounds + after.rounds,
		leftovers: before.leftovers + after.leftovers,
		wrongKills: before.wrongKills + after.wrongKills,
		falseKills: before.falseKills + after.falseKills,
		broken: [...before.broken, ...after.broken],
		times: after.times ?? before.times,
		...(before.verdict === "broken" && { verdict: "broken", note: "" }),
	};
}
