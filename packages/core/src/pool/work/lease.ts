import {
	ConnectionBrokenError,
	InputError,
	OptionsError,
} from "../../contract/errors.ts";
import { failing, messageOf } from "../../contract/thrown.ts";
import { aFunction, checkOptions, show } from "../../options/check.ts";
import type { LongWork } from "../calls/call.ts";
import { EXECUTE_CHECKS, type ExecuteOptions } from "../calls/call-options.ts";

/** The name of a lease in events, logs and traces, where calls have the name of their command. */
export const LEASE = "lease";

/** Settings of one lease. A retry runs the task again, with another worker. */
export type LeaseOptions = Omit<ExecuteOptions, "input" | "onProgress">;

/** The worker that a task uses. With `callsPerWorker: 1`, no other call runs on it meanwhile. */
export interface Lease {
	/** Aborts when the lease is cancelled. If the task has not ended after `calls.cancelGraceMs`, the worker is replaced. */
	readonly signal: AbortSignal;
	readonly workerId: string;
	/** The worker's process: state that the task leaves behind exists only there. */
	readonly incarnation: string;
}

/** Uses the client of one worker. The worker takes other calls again when the returned promise has settled. */
export type LeaseTask<Client, Result> = (
	client: Client,
	lease: Lease,
) => Promise<Result> | Result;

/** @throws OptionsError. */
export function checkLease(task: unknown, options: LeaseOptions): void {
	const wrong = aFunction(task);
	if (wrong !== undefined)
		throw new OptionsError({
			code: "INVALID_OPTION",
			message: `pool.use: the task ${wrong}, got ${show(task)}.`,
		});
	const { input: _input, onProgress: _onProgress, ...checks } = EXECUTE_CHECKS;
	checkOptions("pool.use", options, checks);
}

/** The work of a lease. @param resolve settles what its caller waits for. */
export function leaseWork(
	task: LeaseTask<unknown, unknown>,
	resolve: (result: unknown) => void,
): LongWork {
	let failed: { readonly report: Error; readonly error: unknown } | undefined;
	return {
		shape: "lease",
		begun: false,
		async run({ client }, _command, _args, { signal }, { worker }) {
			if (client === undefined) throw noClient();
			const { workerId, incarnation } = worker.ref;
			try {
				return await task(client, { signal, workerId, incarnation });
			} catch (error) {
				// Most likely a client that lost its server: how the worker ended says more.
				if (worker.isEnding) throw lost(error);
				// Whatever it is an instance of, it is no statement about this worker.
				failed = {
					report: new Error(messageOf(error), { cause: error }),
					error,
				};
				throw failed.report;
			}
		},
		succeed: resolve,
		fail: (error) =>
			resolve(
				failed !== undefined && error.cause === failed.report
					? Promise.reject(failed.error)
					: failing(error),
			),
	};
}

function noClient(): InputError {
	return new InputError({
		code: "NOT_OFFERED",
		ran: "no",
		message:
			"pool.use: the adapter of this pool has no client to lease. Make calls with pool.execute or pool.stream.",
	});
}

function lost(cause: unknown): ConnectionBrokenError {
	return new ConnectionBrokenError({
		ran: "maybe",
		message: `the task of a lease failed as the conversation ended: ${messageOf(cause)}`,
		cause,
	});
}
