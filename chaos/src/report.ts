import { spawnSync } from "node:child_process";
import { cpus, release, totalmem, type } from "node:os";
import { commandToRepeat } from "../../scripts/command-to-repeat.ts";
import { markdownTable } from "../../scripts/markdown-table.ts";
import { PYTHON } from "../programs/worker-adapter.ts";
import type { ChaosCase, RoundOutcome } from "./case.ts";

/** Times of the rounds, in milliseconds; each is one that was measured. */
export interface TimeSummary {
	readonly p50Ms: number;
	readonly maxMs: number;
}

/** Only counts decide. */
export type Verdict = "kept" | "broken" | "not promised" | "skipped";

/** A case in numbers. */
export interface CaseSummary {
	readonly row: string;
	readonly name: string;
	readonly protections: string;
	readonly rounds: number;
	readonly leftovers: number;
	readonly wrongKills: number;
	readonly falseKills: number;
	/** Promises that were not kept, each with how often. */
	readonly broken: readonly string[];
	readonly times: TimeSummary | undefined;
	readonly verdict: Verdict;
	/** Why it did not run. */
	readonly note: string;
}

/** What one way to start workers left when its host was killed. */
export interface PeerSummary {
	readonly name: string;
	readonly version: string;
	readonly rounds: number;
	readonly workers: number;
	readonly leftovers: number;
	readonly times: TimeSummary | undefined;
	readonly note: string;
}

/** Where, when and how a run was made. */
export interface RunFacts {
	readonly machine: string;
	readonly software: string;
	readonly date: string;
	readonly tookMinutes: number;
	readonly command: string;
}

/** One run: what `--json` writes and `--page` reads. */
export interface ChaosRun extends RunFacts {
	/** A note for the reader, written into the file by hand: a row that was left out, and why. */
	readonly remark?: string;
	readonly cases: readonly CaseSummary[];
	readonly peers: readonly PeerSummary[];
}

/** Of one round: a fork loop leaves hundreds. */
const LEFT_NAMED = 8;

/** Summarizes the rounds of a case, and judges them. */
export function summarize(
	{ row, name, promise, protections }: ChaosCase,
	outcomes: readonly RoundOutcome[],
	skipped?: string,
): CaseSummary {
	const sum = (field: "leftovers" | "wrongKills" | "falseKills"): number =>
		outcomes.reduce((total, outcome) => total + (outcome[field] ?? 0), 0);
	const counts = {
		leftovers: sum("leftovers"),
		wrongKills: sum("wrongKills"),
		falseKills: sum("falseKills"),
	};
	const broken = tally(
		outcomes.flatMap(({ broken = [], left = [] }) => [
			...broken,
			...(promise === "none"
				? []
				: left.slice(0, LEFT_NAMED).map((each) => `Left: ${each}.`)),
		]),
	);
	const harm = counts.wrongKills + counts.falseKills + broken.length;
	const verdict = ((): Verdict => {
		if (skipped !== undefined) return "skipped";
		if (promise === "none" && harm === 0) return "not promised";
		return harm + counts.leftovers > 0 ? "broken" : "kept";
	})();
	return {
		...{ row, name, ...counts, broken, verdict },
		protections: protections.join(" + ") || "none",
		rounds: outcomes.length,
		times: summarizeTimes(outcomes),
		note: skipped ?? "",
	};
}

/** Percentiles by nearest rank; `undefined` of nothing. A round that left something has no time. */
export function summarizeTimes(
	outcomes: readonly RoundOutcome[],
): TimeSummary | undefined {
	const sorted = outcomes
		.flatMap(({ leftovers, goneMs }) => (leftovers ? [] : (goneMs ?? [])))
		.sort((a, b) => a - b);
	const maxMs = sorted.at(-1);
	const p50Ms = sorted[Math.ceil(sorted.length / 2) - 1];
	return maxMs === undefined || p50Ms === undefined
		? undefined
		: { p50Ms, maxMs };
}

/**
 * The cases of several runs, in the order of the first. Counts are of all runs together, so that no later run hides
 * what an earlier one found; times are of the last one that measured them.
 */
export function joinRuns(
	runs: readonly (readonly CaseSummary[])[],
): readonly CaseSummary[] {
	const joined = new Map<string, CaseSummary>();
	for (const after of runs.flat()) {
		const key = [after.row, after.name, after.protections].join("|");
		const before = joined.get(key);
		if (before === undefined || before.verdict === "skipped")
			joined.set(key, after);
		else if (after.verdict !== "skipped")
			joined.set(key, {
				...after,
				rounds: before.rounds + after.rounds,
				leftovers: before.leftovers + after.leftovers,
				wrongKills: before.wrongKills + after.wrongKills,
				falseKills: before.falseKills + after.falseKills,
				broken: [...before.broken, ...after.broken],
				times: after.times ?? before.times,
				verdict: before.verdict === "broken" ? "broken" : after.verdict,
			});
	}
	return [...joined.values()];
}

function tally(sentences: readonly string[]): readonly string[] {
	const counts = new Map<string, number>();
	for (const each of sentences) counts.set(each, (counts.get(each) ?? 0) + 1);
	return [...counts].map(([text, count]) =>
		count === 1 ? text : `${text} (${count} times)`,
	);
}

/** @param words of the command line. */
export function runFacts(tookMs: number, words: readonly string[]): RunFacts {
	const { stdout } = spawnSync(PYTHON, ["--version"], { encoding: "utf8" });
	const [first] = cpus();
	const kernel = `${type()} ${release().split("-")[0]}`;
	return {
		machine: `${cpus().length} × ${first?.model.trim() ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GB`,
		software: `${kernel}, Node ${process.versions.node}, ${stdout.trim()}`,
		date: new Date().toISOString().slice(0, 10),
		tookMinutes: Math.round(tookMs / 60_000),
		command: commandToRepeat("chaos", words),
	};
}

/** The columns of the tables of cases, with their widths on the terminal. */
const COLUMNS: readonly (readonly [
	head: string,
	width: number,
	cell: (summary: CaseSummary) => string | number,
])[] = [
	["case", -64, ({ name }) => name],
	["protections", -16, ({ protections }) => protections],
	["rounds", 6, ({ rounds }) => rounds],
	["leftovers", 9, ({ leftovers }) => leftovers],
	["p50", 7, ({ times }) => milliseconds(times?.p50Ms)],
	["max", 7, ({ times }) => milliseconds(times?.maxMs)],
	["wrong", 5, ({ wrongKills }) => wrongKills],
	["false", 5, ({ falseKills }) => falseKills],
	["", 0, ({ verdict, note }) => [verdict, note].filter(Boolean).join(": ")],
];

const cells = (summary: CaseSummary): readonly string[] =>
	COLUMNS.map(([, , cell]) => String(cell(summary)));

/** One case on the terminal; without one, the heads of the columns. */
export function terminalLine(summary?: CaseSummary): string {
	return COLUMNS.map(([head, width, cell]) => {
		const text = summary ? String(cell(summary)) : head;
		return width < 0 ? text.padEnd(-width) : text.padStart(width);
	}).join(" ");
}

function milliseconds(value: number | undefined): string {
	if (value === undefined) return "";
	return value < 100 ? value.toFixed(1) : String(Math.round(value));
}

/** docs/chaos-results.md, whole. @param runs at least one, of one machine; see `joinRuns`. */
export function resultsPage(runs: readonly ChaosRun[]): string {
	const cases = joinRuns(runs.map((run) => run.cases));
	const peers = runs.findLast((run) => run.peers.length > 0)?.peers ?? [];
	const rows = Map.groupBy(cases, ({ row }) => row);
	return [
		"# Chaos results",
		"<!-- Written by the chaos suite; see chaos/README.md. -->",
		...introduction(runs, cases),
		...[...rows].flatMap(([row, ofRow]) => [
			`## ${row.slice(0, 1).toUpperCase()}${row.slice(1)}`,
			markdownTable(
				COLUMNS.map(([head]) => head),
				ofRow.map(cells),
			),
			...ofRow
				.filter(({ broken }) => broken.length > 0)
				.map(
					({ name, protections, broken }) =>
						`Broken, ${name} (${protections}):\n\n${broken.map((each) => `- ${each.split("\n")[0]}`).join("\n")}`,
				),
		]),
		...sideBySide(peers),
	]
		.join("\n\n")
		.concat("\n");
}

function introduction(
	runs: readonly ChaosRun[],
	cases: readonly CaseSummary[],
): readonly string[] {
	const count = (wanted: Verdict): number =>
		cases.filter(({ verdict }) => verdict === wanted).length;
	return [
		"Real hosts with real workers are killed and damaged. The harness observes them from outside, through a socket that only workers and descendants hold, and in the process table.",
		markdownTable(
			["made by", "minutes", "date", "on", "with"],
			runs.map(({ command, tookMinutes, date, machine, software }) => [
				...[`\`${command}\``, String(tookMinutes)],
				...[date, machine, software],
			]),
		),
		...runs.flatMap(({ remark }) => remark ?? []),
		'Times are milliseconds from the fault to the end of the last process of a round, unless the row says otherwise. A leftover is a process that still exists when the harness checks 5 s later; on a busy machine the harness itself is late, and a time can be longer than that. "Wrong" counts processes that were ended but do not belong to the run, "false" counts workers that were ended although their host lived. Of a case that several runs have, counts are summed and times are those of the last run.',
		`${count("kept")} rows are kept, ${count("broken")} are broken, ${count("skipped")} could not run here. "Not promised" rows are measured without the layer that the promise needs.`,
	];
}

function sideBySide(peers: readonly PeerSummary[]): readonly string[] {
	if (peers.length === 0) return [];
	return [
		"## Side by side",
		"In one run, the same harness kills hosts that use other packages and hosts that use Snakepit: every worker runs a busy loop, the host gets SIGKILL, and after 5 s the harness counts. Below them are programs of other kinds, each started with its usual client and as the worker of a pool; all their processes count.",
		markdownTable(
			"host uses,version,rounds,processes,leftovers,p50,max,note".split(","),
			peers.map((peer) => [
				...[peer.name, peer.version],
				...[peer.rounds, peer.workers, peer.leftovers].map(String),
				...[peer.times?.p50Ms, peer.times?.maxMs].map(milliseconds),
				peer.note,
			]),
		),
	];
}
