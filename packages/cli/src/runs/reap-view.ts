import type { ReaperFindings, SparedRun } from "@snakepit/core/inspect";
import type { DeadRunsReport } from "@snakepit/core/registry";
import { counted } from "../wording/figures.ts";
import type { Verdict } from "./look.ts";

/** A process of a dead run, and what happened to it. */
export interface ReapedRow {
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
export interface ReapView {
	readonly verdict: Verdict;
	readonly deadRuns: readonly string[];
	readonly processes: readonly ReapedRow[];
	/** Runs that were left alone, and why; living runs are not listed. */
	readonly sparedRuns: readonly SparedRun[];
	/** Ledger files that could not be read: where they are now. */
	readonly setAside: readonly string[];
}

/** What would be done. */
export function plannedReap({ dead, unclear }: ReaperFindings): ReapView {
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
export function finishedReap(report: DeadRunsReport): ReapView {
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
