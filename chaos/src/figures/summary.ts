import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";

/** Times of many rounds, in milliseconds; each is one that was measured. */
export interface TimeSummary {
	readonly p50Ms: number;
	readonly p99Ms: number;
	readonly maxMs: number;
}

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

/** Counts decide between kept and broken; times between met and not met. */
export type Verdict = "met" | "not met" | "broken" | "not promised" | "skipped";

/** Of one round; a fork loop leaves hundreds. */
const LEFT_TOLD = 8;

/** Summarizes the rounds of a case, and judges them. */
export function summarize(
	chaos: ChaosCase,
	outcomes: readonly RoundOutcome[],
	skipped: string | undefined,
): CaseSummary {
	const sum = (of: (outcome: RoundOutcome) => number | undefined): number =>
		outcomes.reduce((total, outcome) => total + (of(outcome) ?? 0), 0);
	const counts = {
		leftovers: sum(({ leftovers }) => leftovers),
		wrongKills: sum(({ wrongKills }) => wrongKills),
		falseKills: sum(({ falseKills }) => falseKills),
	};
	const broken = tally(
		outcomes.flatMap(({ broken = [], left = [] }) => [
			...broken,
			...(chaos.promise === "none"
				? []
				: left.slice(0, LEFT_TOLD).map((each) => `Left: ${each}.`)),
		]),
	);
	// Of a round in which something survived there is no time.
	const times = summarizeTimes(
		outcomes
			.filter(({ leftovers }) => !leftovers)
			.flatMap(({ goneMs }) => goneMs ?? []),
	);
	const unmet = unmetTargets(chaos, times);
	const isBroken =
		broken.length + counts.leftovers + counts.wrongKills + counts.falseKills >
		0;
	const verdict: Verdict =
		skipped !== undefined
			? "skipped"
			: chaos.promise === "none" && counts.wrongKills + broken.length === 0
				? "not promised"
				: isBroken
					? "broken"
					: unmet.length > 0
						? "not met"
						: "met";
	return {
		row: chaos.row,
		name: chaos.name,
		protections: chaos.protections.join(" + ") || "none",
		promise: chaos.promise,
		rounds: outcomes.length,
		...counts,
		broken,
		times,
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
