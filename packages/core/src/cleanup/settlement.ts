import type { SparedReason } from "../contract/events.ts";
import type { RunId } from "../contract/identity.ts";
import type { Killer, WorkerEnd } from "../contract/process-registry.ts";
import type { HostIncident } from "../registry/host-incident.ts";
import type { Incident } from "../registry/incident.ts";
import type { ReapedOrphan } from "./cleanup-report.ts";
import type {
	DeadRun,
	Orphan,
	SoughtWorker,
	SparedProcess,
} from "./orphan-search.ts";
import type { Fate, KillResult } from "./process-killer.ts";

/** A process of a dead run that was ended, with its identity. */
export type ReapedProcess = Omit<ReapedOrphan, "program"> &
	Pick<Orphan, "identity" | "incarnation">;

/** What is known of one dead run after its processes were ended. */
export interface Settlement {
	readonly reaped: readonly ReapedProcess[];
	readonly spared: readonly SparedProcess[];
	/** Rows that are over now. */
	readonly ends: readonly {
		readonly incarnation: string;
		readonly end: Pick<WorkerEnd, "reason" | "killer">;
	}[];
	/** Whether nothing of the run is left; otherwise the next start looks again. */
	readonly complete: boolean;
}

/** Why a process is still there, by what became of the attempt. */
const SPARED: Readonly<
	Record<Exclude<Fate, ReapedOrphan["how"]>, SparedReason>
> = {
	refused: "signal_refused",
	survived: "survived_kill",
	protected: "own_ancestor",
};

export function spareReason(fate: keyof typeof SPARED): SparedReason {
	return SPARED[fate];
}

/**
 * How a worker ended that is gone, as its host is, which did not record its end.
 * The kernel ends a worker with a lifeline in the moment in which its host dies.
 *
 * @param boot of the worker: with the machine everything ends.
 */
export function endOfGone(
	{ lifeline }: Pick<SoughtWorker, "lifeline">,
	boot: "same" | "other",
): Pick<WorkerEnd, "reason" | "killer"> {
	return lifeline === "listening" && boot === "same"
		? { reason: "host_died", killer: "lifeline" }
		: { reason: "vanished", killer: "unknown" };
}

/** Decides how a dead run is recorded. */
export function settle(
	ofRun: RunId,
	workers: DeadRun["workers"],
	results: readonly KillResult<Orphan>[],
	sparedBefore: readonly SparedProcess[],
	{
		killer = "reaper",
		boot = "same",
	}: { readonly killer?: Killer; readonly boot?: "same" | "other" } = {},
): Settlement {
	const reaped: ReapedProcess[] = [];
	const spared: SparedProcess[] = sparedBefore.filter(
		(process) => process.ofRun === ofRun,
	);
	for (const { target, fate } of results) {
		if (target.ofRun !== ofRun) continue;
		const { pid, foundBy, identity, incarnation } = target;
		if (fate === "ended_on_term" || fate === "killed")
			reaped.push({ ofRun, pid, how: fate, foundBy, identity, incarnation });
		else spared.push({ ofRun, pid, reason: spareReason(fate) });
	}
	const ends = workers
		.filter(({ identity }) => !hasPid(spared, identity?.pid))
		.map((worker) => ({
			incarnation: worker.incarnation,
			end: hasPid(reaped, worker.identity?.pid)
				? ({ reason: "reaped", killer } as const)
				: endOfGone(worker, boot),
		}));
	return { reaped, spared, ends, complete: spared.length === 0 };
}

/** Records the protection that killed a worker before its run was settled. */
export function creditProtections(
	ends: Settlement["ends"],
	workers: DeadRun["workers"],
	incidents: readonly (Incident | HostIncident)[],
): Settlement["ends"] {
	return ends.map((each) => {
		if (each.end.reason === "reaped") return each;
		const { incarnation } = each;
		const row = workers.find((worker) => worker.incarnation === incarnation);
		const wasKilled = incidents.some(
			(incident) =>
				incident.type === "protection.process_killed" &&
				incident.incarnation === incarnation &&
				incident.pid === row?.identity?.pid,
		);
		return wasKilled
			? { incarnation, end: { reason: "reaped", killer: "protection" } }
			: each;
	});
}

function hasPid(
	processes: readonly { readonly pid: number }[],
	pid: number | undefined,
): boolean {
	return processes.some((process) => process.pid === pid);
}
