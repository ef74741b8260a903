import type { WorkerPlace } from "@snakepit/core/adapter";
import type { RunHistory } from "@snakepit/core/inspect";
import { counted } from "../wording/figures.ts";

/** A worker of a run, as it is now. */
export interface SeenWorker {
	readonly workerId: string;
	readonly pool: string;
	readonly pid: number | undefined;
	/** The machine that it runs on, where that is another one, and its pid there. */
	readonly place: WorkerPlace | undefined;
	readonly startedAt: number;
	/** `left`: it lives, and its host does not. */
	readonly condition: "starting" | "lives" | "left" | "ended";
}

/** A run, as it is now. */
export interface SeenRun {
	readonly runId: string;
	/** `dead`: its host is gone, and nothing has cleaned up after it yet. */
	readonly condition: "lives" | "dead" | "ended";
	readonly pid: number;
	/** The file name of its main module, if the ledger has it. */
	readonly program: string | undefined;
	readonly startedAt: number;
	readonly endedAt: number | undefined;
	readonly workers: readonly SeenWorker[];
}

/** Whether exactly this process lives, not another one with its pid. */
export type IsAlive = (identity: RunHistory["owner"]) => boolean;

/** Judges a run of the ledger by the processes that live now. */
export function seen(run: RunHistory, isAlive: IsAlive): SeenRun {
	const { runId, owner, program, startedAt, endedAt } = run;
	const condition =
		endedAt !== undefined ? "ended" : isAlive(owner) ? "lives" : "dead";
	const workers = run.workers.map((worker): SeenWorker => {
		const { workerId, pool, identity, status } = worker;
		const lives = identity !== undefined && isAlive(identity);
		return {
			workerId,
			pool,
			pid: identity?.pid,
			place: worker.place,
			startedAt: worker.activatedAt ?? worker.reservedAt,
			condition: lives
				? condition === "lives"
					? "lives"
					: "left"
				: status === "reserved" && condition === "lives"
					? "starting"
					: "ended",
		};
	});
	return {
		...{ runId, condition, startedAt, endedAt, workers },
		pid: owner.pid,
		program: program?.name,
	};
}

/** A sentence about all runs, and whether all is well. */
export interface Verdict {
	readonly isGood: boolean;
	readonly text: string;
}

/** Judges all runs together. */
export function verdictOn(runs: readonly SeenRun[]): Verdict {
	const living = runs.filter(({ condition }) => condition === "lives");
	const dead = runs.filter(({ condition }) => condition === "dead");
	const count = (
		which: readonly SeenRun[],
		condition: SeenWorker["condition"],
	) =>
		which.flatMap(({ workers }) =>
			workers.filter((each) => each.condition === condition),
		).length;
	// A preloaded parent or a companion is recorded like a worker, but takes no calls.
	const working = living.map((run) => ({
		...run,
		workers: run.workers.filter(({ workerId }) => /-\d+$/.test(workerId)),
	}));
	const left = count(runs, "left");
	const text = [
		living.length === 0
			? "No run is alive"
			: `${counted(living.length, "run")} ${living.length === 1 ? "is" : "are"} alive with ${counted(count(working, "lives"), "worker")}`,
		...(left === 0
			? []
			: [
					`${counted(left, "worker")} of dead hosts ${left === 1 ? "is" : "are"} left; the next program that starts ends ${left === 1 ? "it" : "them"}, and so does snakepit reap`,
				]),
		...(dead.length === 0 || left > 0
			? []
			: [
					`${counted(dead.length, "host")} ended without closing ${dead.length === 1 ? "its" : "their"} run, and no worker is left; snakepit reap also ends what workers had started`,
				]),
	].join("; ");
	return { isGood: left === 0, text: `${text}.` };
}
