import { ForkLost } from "../contract/errors.ts";
import type { ProcessExit } from "../contract/identity.ts";
import type { WorkerCompanion } from "../contract/launch.ts";
import type { StartedProcess } from "../contract/world.ts";
import { describeExit } from "../process/process-end.ts";
import type { Worker } from "./worker.ts";

/** A companion that was ready, as its workers see it. */
export interface TiedCompanion {
	readonly facts: WorkerCompanion;
	/** Calls `action` once, when its end is seen. Returns what takes that back. */
	whenGone(action: (exit: ProcessExit) => void): () => void;
	/** How it ended, if its end is seen within the time; `undefined` immediately if it is not ending. */
	endWithin(ms: number): Promise<ProcessExit | undefined>;
	/** Whether it has ended or is about to, as the process table shows it. */
	isEnding(): boolean;
}

/** Who keeps the companion of a pool running. */
export interface Companions {
	/** The one that runs, or the next one when it is ready. @throws the signal's reason. */
	running(signal: AbortSignal): Promise<TiedCompanion>;
}

/** Exit status of a worker that lost its companion (`EX_SOFTWARE`). */
const LOST_STATUS = 70;
/** A companion that ends in an orderly way hangs up on its workers a moment before it is gone. */
const END_MS = 2_000;

/** From now on the end of the companion is the end of the worker. */
export function tie(worker: Worker, companion: TiedCompanion): void {
	worker.slot = { ...worker.slot, companion: companion.facts };
	worker.companion = companion;
	const untie = companion.whenGone((exit) =>
		worker.condemn("companion_lost", verdictOf(companion, exit)),
	);
	void worker.gone.then(untie);
}

/**
 * Looks whether a worker that ended by itself lost its companion, whose end may be seen later.
 *
 * @param exit of the worker; `undefined` where it has not been seen.
 */
export async function noteCompanionLost(
	{ companion, cause }: Worker,
	exit: ProcessExit | undefined,
): Promise<void> {
	if (companion === undefined || !cause.isOpen) return;
	const says = exit?.kind === "code" && exit.code === LOST_STATUS;
	if (!says && !companion.isEnding()) return;
	const end = await companion.endWithin(END_MS);
	if (end !== undefined) cause.companionLost(verdictOf(companion, end));
}

function verdictOf({ facts }: TiedCompanion, exit: ProcessExit): string {
	return `its companion (pid ${facts.pid}) ${describeExit(exit)}`;
}

/** Looks whether a worker ended because the process that had forked it did: that is not its own fault. */
export function noteParentLost(
	{ cause }: Pick<Worker, "cause">,
	{ source, isParentLost }: Pick<StartedProcess, "source" | "isParentLost">,
): void {
	if (isParentLost === true && cause.isOpen)
		cause.parentLost(
			`the ${source === "preload" ? "preloaded parent" : source} that had forked it was lost`,
		);
}

/** The same of a guard that was lost while it forked the worker. */
export function noteForkLost(
	{ cause }: Pick<Worker, "cause">,
	error: unknown,
): void {
	if (error instanceof ForkLost && error.source === "guard" && cause.isOpen)
		cause.parentLost("the guard was lost before it had forked it");
}
