import type { ChaosCase, RoundOutcome } from "../case.ts";

/** Times of many rounds, in milliseconds; each is one that was measured. */
export interface TimeSummary {
	readonly p50Ms: number;
	readonly p99Ms: number;
	readonly maxMs: number;
}

/** Counts decide between kept and broken; times between met and not met. */
export type Verdict = "met" | "not met" | "broken" | "not promised" | "skipped";

/** A case in numbers. */
export interface CaseSummary {
	readonly row: string;
	readonly name: string;
	readonly protections: string;
	readonly promise: ChaosCase["promise"];
	readonly rounds: number;
	readonly leftovers: number;
	readonly wrongKills: number;
	readonly falseKills: number;
	/** Promises that were not kept, each with how often. */
	readonly broken: readonly string[];
	readonly times: TimeSummary | undefined;
	readonly verdict: Verdict;
	/** Why it did not run, or what was not met. */
	readonly note: string;
}

/** Of one round: a fork loop leaves hundreds. */
const LEFT_NAMED = 8;

/** Summarizes the rounds of a case, and judges them. */
export function summarize(
	chaos: ChaosCase,
	outcomes: readonly RoundOutcome[],
	skipped: string | undefined,
): CaseSummary {
	const { row, name, promise } = chaos;
	const sum = (field: "leftovers" | "wrongKills" | "falseKills"): number =>
		outcomes.reduce((total, outcome) => total + (outcome[field] ?? 0), 0);
	const leftovers = sum("leftovers");
	const wrongKills = sum("wrongKills");
	const falseKills = sum("falseKills");
	const broken = tally(
		outcomes.flatMap(({ broken = [], left = [] }) => [
			...broken,
			...(promise === "none"
				? []
				: left.slice(0, LEFT_NAMED).map((each) => `Left: ${each}.`)),
		]),
	);
	// A round that left something has no time.
	const times = summarizeTimes(
		outcomes
			.filter(({ leftovers }) => !leftovers)
			.flatMap(({ goneMs }) => goneMs ?? []),
	);
	const unmet = unmetTargets(chaos, times);
	const verdict = ((): Verdict => {
		if (skipped !== undefined) return "skipped";
		if (promise === "none" && wrongKills + broken.length === 0)
			return "not promised";
		if (broken.length + leftovers + wrongKills + falseKills > 0)
			return "broken";
		return unmet.length > 0 ? "not met" : "met";
	})();
	return {
		...{ row, name, promise, leftovers, wrongKills, falseKills, broken, times },
		protections: chaos.protections.join(" + ") || "none",
		rounds: outcomes.length,
		verdict,
		note: skipped ?? (verdict === "not met" ? unmet.join("; ") : ""),
	};
}

/** Percentiles by nearest rank; `undefined` of nothing. */
export function summarizeTimes(
	times: readonly number[],
): TimeSummary | undefined {
	const sorted = times.toSorted((a, b) => a - b);
	const at = (share: number): number =>
		sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number;
	if (sorted.length === 0) return undefined;
	return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}

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

function unmetTargets(
	{ target, promise }: ChaosCase,
	times: TimeSummary | undefined,
): readonly string[] {
	if (!target || !times || promise === "none") return [];
	const unmet = (["p50Ms", "p99Ms", "maxMs"] as const).flatMap((name) => {
		const limit = target[name];
		return limit !== undefined && times[name] > limit
			? [`${name.slice(0, -2)} above ${limit} ms`]
			: [];
	});
	if (unmet.length > 0 && target.reason) unmet.push(target.reason);
	return unmet;
}

function tally(sentences: readonly string[]): readonly string[] {
	const counts = new Map<string, number>();
	for (const each of sentences) counts.set(each, (counts.get(each) ?? 0) + 1);
	return [...counts].map(([text, count]) =>
		count === 1 ? text : `${text} (${count} times)`,
	);
}
