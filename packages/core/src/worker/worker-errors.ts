import type { WorkerLostErrorCode } from "../contract/error-codes.ts";
import {
	SnakepitError,
	StartError,
	WorkerLostError,
} from "../contract/errors.ts";
import type { ProcessExit } from "../contract/identity.ts";
import type { StartReport, WorkerSlot } from "../contract/launch.ts";
import type { EndReason } from "../contract/process-registry.ts";
import { messageOf } from "../contract/thrown.ts";
import { describeExit } from "../process/process-end.ts";
import type { Worker } from "./worker.ts";

/** The error of a call whose worker is gone. */
export function workerLost(
	worker: Worker,
	exit: ProcessExit | undefined,
): WorkerLostError {
	const { reason, verdict } = worker.cause;
	const why = verdict === "" ? "" : ` because ${verdict}`;
	return new WorkerLostError({
		code: codeOf(reason),
		ran: "maybe",
		message: `Worker ${worker.ref.workerId} (pid ${worker.pid}) ${describeExit(exit)}${why} while it ran this call. The work may have begun: retry only if it is idempotent (retry).${outputTailOf(worker)}`,
	});
}

/** The error of a call whose worker runs on and cannot answer it any more. */
export function outputLost(worker: Worker): WorkerLostError {
	return new WorkerLostError({
		code: "WORKER_EXITED",
		ran: "maybe",
		message: `Worker ${worker.ref.workerId} (pid ${worker.pid}) cannot answer this call any more: ${worker.cause.verdict}. The work may have begun: retry only if it is idempotent (retry).${outputTailOf(worker)}`,
	});
}

/** The last lines of a worker as a paragraph of an error message; empty when it printed nothing. */
function outputTailOf({ output }: Worker): string {
	return output?.tail.paragraph() ?? "";
}

const REPLACED: readonly EndReason[] = ["stuck", "restarted", "recycled"];

/** The code of the errors of calls whose worker ended so. */
export function codeOf(reason: EndReason | undefined): WorkerLostErrorCode {
	if (reason === "hung") return "WORKER_HUNG";
	if (reason === "companion_lost") return "COMPANION_LOST";
	if (reason !== undefined && REPLACED.includes(reason))
		return "WORKER_REPLACED";
	return "WORKER_EXITED";
}

const STRAY_CHARACTERS = 200;

export function exitedEarly(worker: Worker, exit: ProcessExit): StartError {
	const { verdict } = worker.cause;
	// A worker that is not ready is ended by SIGKILL only: with any other exit it ended by itself.
	const killed = exit.kind === "signal" && exit.signal === "SIGKILL";
	const why = killed && verdict !== "" ? ` because ${verdict}` : "";
	return new StartError({
		code: "WORKER_EXITED_EARLY",
		message: `Worker ${worker.slot.workerId} (pid ${worker.pid}) ${describeExit(exit)}${why} before it was ready.`,
	});
}

export function startTimedOut(worker: Worker, timeoutMs: number): StartError {
	return new StartError({
		code: "START_TIMEOUT",
		message: `Worker ${worker.slot.workerId} (pid ${worker.pid}) was not ready within ${timeoutMs} ms${waitedFor(worker.startReport)} If it needs longer, raise start.timeoutMs.`,
	});
}

function waitedFor({ awaits, stray }: StartReport): string {
	const what = awaits === undefined ? "." : `: it waited for ${awaits}.`;
	if (stray === undefined) return what;
	const shown = JSON.stringify(stray.slice(0, STRAY_CHARACTERS));
	return `${what} Its standard output has a line that does not belong to the protocol: ${shown}. It has to print such lines to standard error.`;
}

export function isTimeout(error: unknown): boolean {
	return error instanceof StartError && error.code === "START_TIMEOUT";
}

/** Ends that were asked for, also while a worker starts. */
const WITHDRAWN: Readonly<Partial<Record<EndReason, string>>> = {
	closed: "its pool is closing",
	recycled: "its pool is smaller now",
	restarted: "it is restarted",
};

/** Ends of something else, which took the worker along. */
const LOST: readonly (EndReason | undefined)[] = [
	"companion_lost",
	"parent_lost",
];

export function withdrawn({
	slot,
	cause,
}: {
	readonly slot: Pick<WorkerSlot, "workerId">;
	readonly cause: Worker["cause"];
}): StartError {
	const { reason, verdict } = cause;
	const why = LOST.includes(reason) ? verdict : WITHDRAWN[reason ?? "closed"];
	return new StartError({
		code: "START_WITHDRAWN",
		message: `Worker ${slot.workerId} was stopped before it was ready, because ${why ?? "its pool is closing"}.`,
	});
}

/** Why there is no process. */
export function notSpawned(
	error: unknown,
	worker: {
		readonly slot: Pick<WorkerSlot, "workerId">;
		readonly cause?: Worker["cause"];
	},
): SnakepitError {
	const { slot, cause } = worker;
	if (cause?.reason === "parent_lost") return withdrawn({ slot, cause });
	if (error instanceof SnakepitError) return error;
	return new StartError({
		code: "SPAWN_FAILED",
		message: `Worker ${slot.workerId} could not be started: ${messageOf(error)}`,
		cause: error,
	});
}

/** Why a process did not become ready, with its last lines, which explain it most often. */
export function notReady(error: unknown, worker: Worker): StartError {
	const { reason } = worker.cause;
	if (LOST.includes(reason) || (reason ?? "") in WITHDRAWN)
		return withdrawn(worker);
	const words = outputTailOf(worker);
	if (error instanceof StartError) return withLastLines(error, words);
	return new StartError({
		code: "CONNECT_FAILED",
		message: `Worker ${worker.slot.workerId} started, but its adapter could not connect: ${messageOf(error)}${words}`,
		cause: error,
	});
}

/** A start error with what the process printed last; anything else as it is. */
export function withLastLines<Thrown>(
	error: Thrown,
	words: string,
): Thrown | StartError {
	if (!(error instanceof StartError)) return error;
	return new StartError({
		code: error.code,
		message: error.message + words,
		cause: error.cause,
	});
}

/** Whatever a start threw, as a start error. */
export function asStartError(error: unknown): StartError {
	if (error instanceof StartError) return error;
	return new StartError({
		code: "SPAWN_FAILED",
		message: `A worker could not be started: ${messageOf(error)}`,
		cause: error,
	});
}
