import type { Case, Row, Setting } from "./case.ts";
import { type PeerProblems, whatIsMissing } from "./needs.ts";
import type { CaseResult, RowResult } from "./result.ts";
import { type RowOutcome, runRow } from "./row-process.ts";
import { caseResult, rowResult } from "./summarize.ts";

export interface CaseRun {
	readonly setting: Setting;
	readonly runs: number;
	readonly peers: PeerProblems;
	/** Why there can be no Ray cluster here. */
	readonly clusterProblem: string | undefined;
	/** Hears what is about to be measured. */
	readonly onStep: (step: string) => void;
}

/** Measures every row of a case, run after run: what the machine does meanwhile hits all of them alike. */
export async function runCase(
	one: Case,
	{ setting, runs, peers, clusterProblem, onStep }: CaseRun,
): Promise<CaseResult> {
	const missing = new Map<Row, string>();
	for (const row of one.rows) {
		const what = whatIsMissing(
			row.needs,
			peers,
			process.platform,
			setting.freeThreadedPython,
			clusterProblem,
		);
		if (what !== undefined) missing.set(row, what);
	}
	const there = one.rows.filter((row) => !missing.has(row));
	const outcomes = new Map<Row, RowOutcome[]>(there.map((row) => [row, []]));
	const times = Math.min(runs, one.mostRuns ?? runs);
	for (let run = 0; run < times; run++) {
		const measure = async (row: Row): Promise<void> => {
			onStep(`${one.name}, run ${run + 1} of ${times}: ${row.name}`);
			const request = { caseName: one.name, rowName: row.name, setting };
			outcomes.get(row)?.push(await runRow(request, row.needs?.clusterNodes));
		};
		if (one.together) await Promise.all(there.map(measure));
		else for (const row of rotated(there, run)) await measure(row);
	}
	const rows = one.rows.map((row): RowResult => {
		const problem = missing.get(row);
		const { name, kind } = row;
		return problem === undefined
			? rowResult(row, outcomes.get(row) ?? [])
			: { name, kind, figures: {}, problem };
	});
	return caseResult(one, rows, times);
}

/** Every run begins with another row: nobody always goes first. */
function rotated<Item>(items: readonly Item[], by: number): readonly Item[] {
	const at = items.length === 0 ? 0 : by % items.length;
	return [...items.slice(at), ...items.slice(0, at)];
}
