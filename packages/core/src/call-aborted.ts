import { CallAbortedError } from "./errors.ts";

/**
 * For adapters: a call that its caller has cancelled, whatever the worker answered.
 *
 * @param worker `"unused"`: the call was cancelled before it was sent, so its work has not begun. `"free"`: the worker
 *   has finished with it. `"unknown"`: nothing says so, and the worker is replaced.
 */
export function callAborted(
	command: string,
	{ reason }: AbortSignal,
	worker: "unused" | "free" | "unknown",
): CallAbortedError {
	return new CallAbortedError({
		code: "CALL_ABORTED",
		ran: worker === "unused" ? "no" : "maybe",
		message: `"${command}" was cancelled.`,
		cause: reason,
		worker: worker === "unused" ? "free" : worker,
	});
}
