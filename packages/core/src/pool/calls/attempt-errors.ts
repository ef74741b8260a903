import {
	ConnectionBrokenError,
	SnakepitError,
	ToolError,
} from "../../errors.ts";
import { asError } from "../../thrown.ts";
import type { CallAttempt } from "./call-attempt.ts";

/** An attempt that was not sent. */
export function noConnection(): ConnectionBrokenError {
	return new ConnectionBrokenError({
		ran: "no",
		message: "the worker has no connection",
	});
}

/** Translates foreign errors, here and nowhere else. */
export function translate(
	error: unknown,
	{ call, worker }: CallAttempt,
): SnakepitError {
	const cause = asError(error);
	if (cause instanceof SnakepitError) return cause;
	return new ToolError({
		ran: "maybe",
		message: `"${call.command}" failed on worker ${worker.ref.workerId}: ${cause.message}`,
		cause: error,
		remote: {
			type: cause.name,
			message: cause.message,
			traceback: cause.stack,
		},
	});
}
