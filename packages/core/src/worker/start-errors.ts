import { SnakepitError, StartError } from "../errors.ts";
import type { ProcessExit } from "../world.ts";
import type { Worker } from "./worker.ts";
import { describeExit } from "./worker-lost.ts";

export function exitedEarly(worker: Worker, exit: ProcessExit): StartError {
	return new StartError({
		code: "WORKER_EXITED_EARLY",
		ran: "no",
		message: `Worker ${worker.seat.workerId} (pid ${worker.pid}) ${describeExit(exit)} before it was ready.`,
	});
}

export function startTimedOut(worker: Worker, timeoutMs: number): StartError {
	return new StartError({
		code: "START_TIMEOUT",
		ran: "no",
		message: `Worker ${worker.seat.workerId} (pid ${worker.pid}) was not ready within ${timeoutMs} ms. If it needs longer, raise start.timeoutMs.`,
	});
}

export function withdrawn(worker: Worker): StartError {
	return new StartError({
		code: "WORKER_EXITED_EARLY",
		ran: "no",
		message: `Worker ${worker.seat.workerId} was told to go before it was ready: its pool is closing.`,
	});
}

/** The same error with the worker's last lines, which explain it most often. */
export function explained(error: unknown, worker: Worker): SnakepitError {
	const words = worker.lastWords();
	if (error instanceof StartError) {
		return new StartError({
			code: error.code,
			ran: "no",
			message: error.message + words,
			cause: error.cause,
		});
	}
	if (error instanceof SnakepitError) return error;
	const message = error instanceof Error ? error.message : String(error);
	return new StartError({
		code: "CONNECT_FAILED",
		ran: "no",
		message: `Worker ${worker.seat.workerId} started, but its adapter could not connect: ${message}${words}`,
		cause: error,
	});
}
