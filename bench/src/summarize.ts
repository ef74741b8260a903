import type { Aim, Case, Lookup, Row } from "./case.ts";
import type { AimResult, CaseResult, RowResult, Spread } from "./result.ts";
import type { RowOutcome } from "./row-process.ts";

/** Median, least and most. */
export function spread(samples: readonly number[]): Spread {
	const sorted = samples.toSorted((a, b) => a - b);
	const half = (sorted.length - 1) / 2;
	const low = sorted[Math.floor(half)] ?? Number.NaN;
	const high = sorted[Math.ceil(half)] ?? Number.NaN;
	return {
		median: (low + high) / 2,
		min: sorted[0] ?? Number.NaN,
		max: sorted.at(-1) ?? Number.NaN,
		samples,
	};
}

/** Summarizes the runs of one row. */
export function rowResult(
	{ name, kind }: Row,
	outcomes: readonly RowOutcome[],
): RowResult {
	const samples: Record<string, number[]> = {};
	const problems: string[] = [];
	for (const outcome of outcomes) {
		if (outcome.kind === "failed") problems.push(outcome.problem);
		else
			for (const [figure, value] of Object.entries(outcome.figures)) {
				samples[figure] ??= [];
				samples[figure].push(value);
			}
	}
	const figures = Object.fromEntries(
		Object.entries(samples).map(([figure, all]) => [figure, spread(all)]),
	);
	const count = `${problems.length} of ${outcomes.length} runs failed`;
	return {
		name,
		kind,
		figures,
		...(problems.length === 0 ? {} : { problem: `${count}: ${problems[0]}` }),
	};
}

/** The rows of a case, and which aims they meet. */
export function caseResult(
	{ name, title, about, plot, figures, aims }: Case,
	rows: readonly RowResult[],
	runs: number,
): CaseResult {
	const of: Lookup = (row, figure) =>
		rows.find((each) => each.name === row)?.figures[figure]?.median ??
		Number.NaN;
	const judged = aims.map((aim) => judge(aim, of));
	return { name, title, about, plot, runs, figures, rows, aims: judged };
}

export function judge(aim: Aim, of: Lookup): AimResult {
	const { text, unit, atMost, atLeast } = aim;
	const value = aim.value(of);
	const known = {
		text,
		unit,
		...(atMost === undefined ? {} : { atMost }),
		...(atLeast === undefined ? {} : { atLeast }),
	};
	if (Number.isNaN(value)) return { ...known, verdict: "not measured" };
	if (atMost === undefined && atLeast === undefined)
		return { ...known, value, verdict: "stated" };
	const isMet =
		value <= (atMost ?? Number.POSITIVE_INFINITY) &&
		value >= (atLeast ?? Number.NEGATIVE_INFINITY);
	return { ...known, value, verdict: isMet ? "met" : "not met" };
}
