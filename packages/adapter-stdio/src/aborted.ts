import { CallAbortedError } from "@snakepit/core";

/** A call that its caller cancelled, whatever the program answered. */
export function aborted(
	command: string,
	{ reason }: AbortSignal,
	worker: "free" | "unknown" = "free",
): CallAbortedError {
	return new CallAbortedError({
		code: "CALL_ABORTED",
		ran: "maybe",
		message: `"${command}" was cancelled.`,
		cause: reason,
		worker,
	});
}
