import type { Clock } from "../contract/clock.ts";
import type { Connection } from "../contract/connection.ts";
import { StartError } from "../contract/errors.ts";
import type { StartedProcess } from "../contract/world.ts";
import { afterRunning } from "../deadline.ts";
import { exitedEarly, startTimedOut, withdrawn } from "./start-errors.ts";
import type { Worker } from "./worker.ts";

/** What the steps of a start end with. */
export interface Handshake {
	readonly connection: Connection;
	/** What the program reported about itself. */
	readonly ready: unknown;
	/** When the launch message was answered. */
	readonly launchedMs: number;
}

/** What fails because the process is ending fails a moment before its exit is seen. One that runs on is awaited no longer. */
const EXIT_PATIENCE_MS = 1_000;

/**
 * Runs the steps from spawned to connected against the end of the process and the
 * deadline. The loser is notified by the signal, and a connection that comes too
 * late is closed.
 *
 * @throws StartError `START_TIMEOUT`, `WORKER_EXITED_EARLY`, or what a step threw.
 */
export async function raceToReady(
	worker: Worker,
	process: StartedProcess,
	timeoutMs: number,
	clock: Clock,
	steps: (signal: AbortSignal) => Promise<Handshake>,
): Promise<Handshake> {
	const { startAbort } = worker;
	const end = Promise.withResolvers<never>();
	const timer = afterRunning(clock, timeoutMs, () =>
		end.reject(startTimedOut(worker, timeoutMs)),
	);
	void ended(worker, process).catch(end.reject);
	const going = steps(startAbort.signal);
	try {
		return await Promise.race([going, end.promise]).finally(() =>
			timer.cancel(),
		);
	} catch (error) {
		startAbort.abort(error);
		going
			.then(({ connection }) => connection[Symbol.asyncDispose]())
			.catch(
				() => {}, // It failed as well, or could not be closed: the process ends in any case.
			);
		throw explainsItself(error) ? error : await exitInstead(error);
	} finally {
		end.promise.catch(() => {}); // Its rejection is handled also when it lost the race.
	}

	/** A conversation that fails may announce an exit, and the exit explains more. */
	async function exitInstead(error: unknown): Promise<unknown> {
		return await new Promise((resolve) => {
			const patience = clock.after(EXIT_PATIENCE_MS, () => resolve(error));
			end.promise.catch((ending: unknown) => {
				patience.cancel();
				resolve(ending);
			});
		});
	}
}

/** Rejects when the process has ended, with the best reason that there is. */
async function ended(worker: Worker, process: StartedProcess): Promise<never> {
	// A process that cannot be killed is waited for no longer than its worker.
	const gone = worker.gone.then(() => undefined);
	const exit = await Promise.race([process.exited, gone]);
	if (exit === undefined) throw withdrawn(worker);
	await process.executed;
	throw exitedEarly(worker, exit);
}

/** What a program or its adapter says of a failed start explains more than an exit. */
function explainsItself(error: unknown): boolean {
	return error instanceof StartError && error.code !== "WORKER_EXITED_EARLY";
}
