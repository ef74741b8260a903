import type { KillCount, ProgramSummary } from "../any-program.ts";
import type { RunFacts } from "./run-facts.ts";
import { type CaseSummary, joinRuns } from "./summary.ts";
import { cells, HEADS } from "./terminal-table.ts";

/** What one peer left behind. */
export interface PeerSummary {
	readonly name: string;
	readonly version: string;
	readonly rounds: number;
	readonly workers: number;
	readonly leftovers: number;
	readonly p50Ms: number | undefined;
	readonly maxMs: number | undefined;
	readonly note: string;
}

/** One run: what `--json` writes and `--page` reads. */
export interface ChaosRun extends RunFacts {
	/** A note on this run for the reader, written into its file by hand: a row that was left out, and why. */
	readonly remark?: string;
	readonly cases: readonly CaseSummary[];
	readonly peers: readonly PeerSummary[];
	readonly programs?: readonly ProgramSummary[];
}

/**
 * docs/chaos-results.md, whole.
 *
 * @param runs - At least one, of one machine; see `joinRuns`.
 */
export function resultsPage(runs: readonly ChaosRun[]): string {
	const cases = joinRuns(runs.map((run) => run.cases));
	const peers = runs.findLast((run) => run.peers.length > 0)?.peers ?? [];
	const programs = runs.flatMap((run) => run.programs ?? []);
	const rows = [...new Set(cases.map(({ row }) => row))];
	return [
		"# Chaos results",
		"<!-- Written by the chaos suite; see chaos/README.md. -->",
		introduction(runs, cases),
		...rows.flatMap((row) => [
			`## ${capital(row)}`,
			table(HEADS, cases.filter((each) => each.row === row).map(cells)),
			...brokenSentences(cases.filter((each) => each.row === row)),
		]),
		...(peers.length === 0 ? [] : sideBySide(peers)),
		...(programs.length === 0 ? [] : anyProgram(programs)),
		"",
	]
		.join("\n\n")
		.trimEnd()
		.concat("\n");
}

function introduction(
	runs: readonly ChaosRun[],
	cases: readonly CaseSummary[],
): string {
	const [facts] = runs;
	if (facts === undefined) throw new TypeError("There is no run.");
	const made = runs.map(
		({ command, seed, tookMinutes }) =>
			`\`${command}\` with seed ${seed} in ${tookMinutes} minutes`,
	);
	const several =
		runs.length > 1
			? " Counts are the sum of all runs; times are from the last run that measured them."
			: "";
	const count = (verdict: CaseSummary["verdict"]): number =>
		cases.filter((each) => each.verdict === verdict).length;
	return `Real hosts with real workers are killed and damaged. The harness observes them from outside, through a socket that only
workers and descendants hold, and in the process table. Made by ${made.join(", then ")}.${several}
${runs.flatMap(({ remark }) => (remark === undefined ? [] : [`\n${remark}\n`])).join("")}
| | |
|---|---|
| machine | ${facts.machine} |
| kernel | ${facts.kernel} |
| Node | ${facts.node} |
| Python | ${facts.python} |
| date | ${facts.date} |

Times are milliseconds from the fault to the end of the last process of a round, unless the row says otherwise. A
leftover is a process that still exists when the harness checks 5 s later; on a busy machine the harness itself is late,
and a time can be longer than that. "Wrong" counts processes that were ended but do not belong to the run, "false"
counts workers that were ended although their host lived. With fewer than a hundred rounds, p99 is the maximum. Only
counts decide: ${count("met")} rows are met, ${count("not met")} kept every count but missed a time, ${count("broken")} are broken,
${count("skipped")} could not run here. "Not promised" rows are measured without the layer that the promise needs.`;
}

function sideBySide(peers: readonly PeerSummary[]): readonly string[] {
	return [
		"## Side by side",
		"In one run, the same harness kills hosts that use other packages and hosts that use Snakepit: every worker runs a busy loop, the host gets SIGKILL, and after 5 s the harness counts.",
		table(
			"host uses,version,rounds,workers,leftovers,p50,max,note".split(","),
			peers.map((peer) => [
				...[peer.name, peer.version],
				...[peer.rounds, peer.workers, peer.leftovers].map(String),
				...[peer.p50Ms, peer.maxMs].map((ms) => ms?.toFixed(1) ?? ""),
				peer.note,
			]),
		),
	];
}

function anyProgram(programs: readonly ProgramSummary[]): readonly string[] {
	const count = (counts: readonly KillCount[]): string =>
		counts.map(({ started, left }) => `${left} of ${started}`).join("; ");
	return [
		"## Programs of all kinds, and their usual clients",
		`A host has started one program. ${programs.length} programs were each started in three ways: with what people usually start them with; as the worker of a pool with \`guard: "off"\`; and of one without any option, which has a guard. The host is killed with SIGKILL; with its whole process group; and after SIGSTOP. A cell has these three: how many of the program's processes are left a second later, of how many. Some programs end by themselves when their input ends, if nothing keeps them busy; some of these need more than a second. A daemon that left its group and cleared its environment outlives its host unless there is a guard.`,
		table(
			["program", "usual client", "usually", "Snakepit, no guard", "Snakepit"],
			programs.map(({ name, usual, left }) => [
				...[name, usual],
				...[left.usual, left.snakepit, left.guarded].map(count),
			]),
		),
	];
}

function brokenSentences(cases: readonly CaseSummary[]): readonly string[] {
	return cases.flatMap(({ name, protections, broken }) =>
		broken.length === 0
			? []
			: [
					`Broken, ${name} (${protections}):\n\n${broken.map((each) => `- ${each.split("\n")[0]}`).join("\n")}`,
				],
	);
}

function table(
	heads: readonly string[],
	rows: readonly (readonly string[])[],
): string {
	const line = (texts: readonly string[]): string =>
		`| ${texts.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
	return [
		line(heads),
		`|${heads.map(() => "---").join("|")}|`,
		...rows.map(line),
	].join("\n");
}

function capital(text: string): string {
	return text.slice(0, 1).toUpperCase() + text.slice(1);
}
