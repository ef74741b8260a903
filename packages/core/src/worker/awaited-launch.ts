import type { Clock } from "../contract/clock.ts";
import { StartError } from "../contract/errors.ts";
import type { LaunchSpec, WorkerSlot } from "../contract/launch.ts";
import { afterRunning } from "../deadline.ts";
import type { Worker } from "./worker.ts";

/**
 * Waits for what an adapter says about a start, for no longer than the start may
 * take, and not after the worker was stopped.
 *
 * @throws StartError `START_TIMEOUT`, `START_WITHDRAWN`; or what the adapter rejected with.
 */
export async function awaitLaunch(
	launch: Promise<LaunchSpec>,
	{
		startAbort,
		slot,
	}: Pick<Worker, "startAbort"> & {
		readonly slot: Pick<WorkerSlot, "workerId">;
	},
	timeoutMs: number,
	clock: Clock,
	asked: "launch" | "companion" = "launch",
): Promise<LaunchSpec> {
	const { signal } = startAbort;
	const given = Promise.withResolvers<never>();
	const timer = afterRunning(clock, timeoutMs, () =>
		startAbort.abort(launchTimedOut(slot.workerId, timeoutMs, asked)),
	);
	const aborted = (): void => given.reject(signal.reason);
	if (signal.aborted) aborted();
	signal.addEventListener("abort", aborted);
	try {
		return await Promise.race([launch, given.promise]);
	} finally {
		timer.cancel();
		signal.removeEventListener("abort", aborted);
	}
}

function launchTimedOut(
	workerId: string,
	timeoutMs: number,
	asked: string,
): StartError {
	return new StartError({
		code: "START_TIMEOUT",
		ran: "no",
		message: `The adapter's ${asked}() for worker ${workerId} did not return within ${timeoutMs} ms. If it needs longer, raise start.timeoutMs.`,
	});
}
