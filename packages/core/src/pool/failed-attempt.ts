import { type SnakepitError, ToolError } from "../errors.ts";
import type { Random } from "../world.ts";
import type { Call } from "./call.ts";
import type { CallReports } from "./call-reports.ts";

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
	{ retry }: Call,
	error: SnakepitError,
	nowMs: number,
	{ random, reports }: { random: Random; reports: CallReports },
): FailedAttempt {
	const on = error instanceof ToolError ? retry?.on : undefined;
	const isAccepted =
		on !== undefined &&
		reports.guard("retry.on", () => on(error as ToolError)) === true;
	return {
		kind: "failed",
		error,
		nowMs,
		byCaller: isAccepted ? "accepted" : "not accepted",
		fraction: retry?.backoffMs ? random.fraction() : 0,
	};
}
