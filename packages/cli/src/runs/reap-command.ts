import type { ReaperFindings, SparedRun } from "@snakepit/core/inspect";
import type { DeadRunsReport } from "@snakepit/core/registry";
import type { Command } from "commander";
import { CommandFailed } from "../command/failures.ts";
import { DATA_DIR, JSON_FLAG } from "../command/flags.ts";
import { coloured, table, write } from "../command/output.ts";
import { counted } from "../wording/figures.ts";
import { runMeant } from "./named-run.ts";

interface ReapFlags {
	readonly dryRun?: boolean;
	readonly run?: string;
	readonly dataDir?: string;
	readonly json?: boolean;
}

/** Adds `snakepit reap`. */
export function addReap(program: Command): void {
	program
		.command("reap")
		.description("kill processes that dead programs left")
		.option("--dry-run", "only list them")
		.option(
			"--run <id>",
			"only processes of this run: its id, or the beginning of it",
		)
		.option(...DATA_DIR)
		.option(...JSON_FLAG)
		.action(reap);
}

async function reap(flags: ReapFlags): Promise<void> {
	const view = await viewOf(flags);
	if (!view.verdict.isGood) process.exitCode = 1;
	if (flags.json) return write(JSON.stringify(view, undefined, 2));
	write(coloured(view.verdict.text, view.verdict.isGood));
	const { processes, sparedRuns, setAside } = view;
	const rows = [
		...processes.map(({ runId, program, pid, outcome, reason }) => [
			...[runId, program ?? "", String(pid), reason ?? OUTCOMES[outcome]],
		]),
		...sparedRuns.map(({ runId, reason }) => [runId, "", "", reason]),
	].map((row) => row.map((cell) => cell.replaceAll("_", " ")));
	if (rows.length > 0)
		write(table([["RUN", "PROGRAM", "PID", "WHAT"], ...rows]).join("\n"));
	for (const path of setAside)
		write(`A ledger that could not be used is now ${path}`);
}

const OUTCOMES: Readonly<
	Record<ReapView["processes"][number]["outcome"], string>
> = {
	left: "would be ended",
	ended_on_term: "ended after SIGTERM",
	killed: "killed",
	spared: "left alone",
};

async function viewOf({ dryRun, run, dataDir }: ReapFlags): Promise<ReapView> {
	const { findDeadRuns } = await import("@snakepit/core/inspect");
	if (run !== undefined) run = await runMeant(run, dataDir);
	if (dryRun || run !== undefined) {
		const findings = await findDeadRuns(dataDir);
		const only = run === undefined ? findings : onlyOf(findings, run);
		if (dryRun) return plannedReap(only);
		run = (only.dead[0] ?? only.unclear[0])?.runId;
	}
	const { reapDeadRuns } = await import("@snakepit/core/registry");
	return finishedReap(await reapDeadRuns({ dataDir, run }));
}

/** The findings about one run. */
function onlyOf(findings: ReaperFindings, prefix: string): ReaperFindings {
	const all = [...findings.living, ...findings.dead, ...findings.unclear];
	const ids = new Set(
		all.flatMap(({ runId }) => (runId.startsWith(prefix) ? runId : [])),
	);
	const [id] = ids;
	if (id === undefined)
		throw new CommandFailed(
			"absent",
			`No run "${prefix}" is alive or was left behind. List ended runs: snakepit history.`,
		);
	if (ids.size > 1)
		throw new CommandFailed(
			"usage",
			`${ids.size} runs begin with "${prefix}": ${[...ids].join(", ")}.`,
		);
	const living = findings.living.find(({ runId }) => runId === id);
	if (living !== undefined)
		throw new CommandFailed(
			"refused",
			`Run ${id} is still alive: its program has pid ${living.pid}. None of its processes was killed.`,
		);
	const isIt = ({ runId }: { readonly runId: string }): boolean => runId === id;
	return {
		living: [],
		dead: findings.dead.filter(isIt),
		unclear: findings.unclear.filter(isIt),
	};
}

/** A process of a dead run, and what happened to it. */
interface ReapedRow {
	readonly runId: string;
	/** `undefined` if no record says it. */
	readonly program: string | undefined;
	readonly pid: number;
	/** `left`: it would be ended. `spared`: it is left alone. */
	readonly outcome: "left" | "ended_on_term" | "killed" | "spared";
	/** Why it is left alone. */
	readonly reason: string | undefined;
}

/** The findings and actions of `snakepit reap`. */
interface ReapView {
	/** A sentence, and whether all is well. */
	readonly verdict: { readonly isGood: boolean; readonly text: string };
	readonly deadRuns: readonly string[];
	readonly processes: readonly ReapedRow[];
	/** Runs that were left alone, and why; living runs are not listed. */
	readonly sparedRuns: readonly SparedRun[];
	/** Ledger files that could not be read: where they are now. */
	readonly setAside: readonly string[];
}

/** What would be done. */
function plannedReap({ dead, unclear }: ReaperFindings): ReapView {
	const processes = dead.flatMap(({ runId, program, orphans, spared }) => [
		...orphans.map(
			({ pid }): ReapedRow => ({
				...{ runId, program, pid, outcome: "left", reason: undefined },
			}),
		),
		...spared.map(
			({ pid, reason }): ReapedRow => ({
				...{ runId, program, pid, outcome: "spared", reason },
			}),
		),
	]);
	const deadRuns = [...new Set(dead.map(({ runId }) => runId))];
	const left = countOf(processes, "left");
	const text =
		deadRuns.length === 0
			? "No dead run is left"
			: `Would clean up after ${counted(deadRuns.length, "dead run")} and end ${counted(left, "process", "processes")}`;
	return view(text, processes, left === 0, {
		...{ deadRuns, sparedRuns: unclear, setAside: [] },
	});
}

/** What was done. */
export function finishedReap(
	report: Pick<
		DeadRunsReport,
		"deadRuns" | "reaped" | "sparedProcesses" | "sparedRuns" | "setAside"
	>,
): ReapView {
	const { deadRuns, reaped, sparedProcesses, setAside } = report;
	const processes = [
		...reaped.map(
			({ ofRun, program, pid, how }): ReapedRow => ({
				...{ runId: ofRun, program, pid, outcome: how, reason: undefined },
			}),
		),
		...sparedProcesses.map(
			({ ofRun, pid, reason }): ReapedRow => ({
				...{ runId: ofRun, pid, outcome: "spared", reason },
				program: undefined,
			}),
		),
	];
	const text =
		deadRuns.length === 0
			? "No dead run was left"
			: `Cleaned up after ${counted(deadRuns.length, "dead run")} and ended ${counted(reaped.length, "process", "processes")}`;
	return view(text, processes, true, {
		deadRuns,
		// A living owner cleans up after its own workers.
		sparedRuns: report.sparedRuns.filter(
			({ reason }) => reason !== "owner_alive",
		),
		setAside: setAside.map(({ path }) => path),
	});
}

function view(
	done: string,
	processes: readonly ReapedRow[],
	isDone: boolean,
	rest: Omit<ReapView, "verdict" | "processes">,
): ReapView {
	const spared = countOf(processes, "spared");
	const unread = rest.sparedRuns.length;
	const text = [
		done,
		...(spared === 0
			? []
			: [`${counted(spared, "process", "processes")} left alone`]),
		...(unread === 0
			? []
			: [`${counted(unread, "run")} could not be checked from here`]),
	].join("; ");
	const isGood =
		isDone &&
		spared === 0 &&
		rest.sparedRuns.every(({ reason }) => reason !== "unreadable");
	return { verdict: { isGood, text: `${text}.` }, processes, ...rest };
}

function countOf(
	processes: readonly ReapedRow[],
	outcome: ReapedRow["outcome"],
): number {
	return processes.filter((each) => each.outcome === outcome).length;
}
