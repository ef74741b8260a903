import type { WorkerLostErrorCode } from "../contract/error-codes.ts";
import { WorkerLostError } from "../contract/errors.ts";
import type { ProcessExit } from "../contract/identity.ts";
import type { EndReason } from "../contract/process-registry.ts";
import { describeExit } from "../process/describe-exit.ts";
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
export function outputTailOf({ output }: Worker): string {
	return output?.tail.paragraph() ?? "";
}

const REPLACED: readonly EndReason[] = ["stuck", "restarted", "recycled"];

function codeOf(reason: EndReason | undefined): WorkerLostErrorCode {
	if (reason === "hung") return "WORKER_HUNG";
	if (reason === "companion_lost") return "COMPANION_LOST";
	if (reason !== undefined && REPLACED.includes(reason))
		return "WORKER_REPLACED";
	return "WORKER_EXITED";
}
