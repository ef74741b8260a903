import type { Random } from "../../contract/clock.ts";
import {
	OptionsError,
	type SnakepitError,
	ToolError,
} from "../../contract/errors.ts";
import type { CallReports } from "../observe/call-reports.ts";
import type { Call } from "./call.ts";

/** An attempt that failed, with what the decision about the next one depends on. */
export interface FailedAttempt {
	readonly kind: "failed";
	readonly error: SnakepitError;
	readonly nowMs: number;
	/** `"accepted"`: the caller has this failure of the command retried. */
	readonly byCaller: "accepted" | "not accepted";
	/** A number from 0 to 1, by chance. */
	readonly fraction: number;
}

/** Asks the caller, and chance, only where a call may be retried. */
export function failedAttempt(
	call: Call,
	error: SnakepitError,
	nowMs: number,
	{ random, reports }: { random: Random; reports: CallReports },
): FailedAttempt {
	const { retry } = call;
	const on = error instanceof ToolError ? retry?.on : undefined;
	const answer: unknown =
		on && reports.guard("retry.on", () => on(error as ToolError));
	return {
		kind: "failed",
		error: answer instanceof Promise ? undecided(call, error, answer) : error,
		nowMs,
		byCaller: answer === true ? "accepted" : "not accepted",
		fraction: retry?.backoffMs ? random.fraction() : 0,
	};
}

/** A promise is no decision: as one it would be as good as `true`, or as `false`. */
function undecided(
	{ callId, command }: Call,
	error: SnakepitError,
	answer: Promise<unknown>,
): OptionsError {
	answer.catch(() => {}); // Nobody else waits for it.
	return new OptionsError({
		code: "INVALID_OPTION",
		ran: error.ran,
		message: `Call ${callId} (${command}) failed, and "on" of its retry returned a promise, so it was not retried. It must return true or false synchronously. The failure was: ${error.message}`,
		cause: error,
	});
}
