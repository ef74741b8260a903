import {
	ConnectionBrokenError,
	type SnakepitError,
	WorkerLostError,
} from "../errors.ts";
import type { Call } from "./call.ts";

/** What happens to a call whose attempt failed. */
export type RetryVerdict = "retry" | "give_up";

/** How often a call was tried, the attempt that is judged included. */
export type Tried = Pick<Call, "attempts" | "begun" | "idempotentRetries">;

/** However often a call may be retried, a call that never began is not moved around for ever. */
const MAX_UNBEGUN_ATTEMPTS = 5;

/**
 * Decides whether a failed attempt is made again.
 *
 * Work that never began is tried again, a few times. Work that may have begun is
 * tried again only as often as its caller allowed by declaring it idempotent, so
 * that a poisonous input does not take worker after worker down.
 */
export function judgeRetry(
	error: SnakepitError,
	{ attempts, begun, idempotentRetries }: Tried,
): RetryVerdict {
	if (
		!(
			error instanceof WorkerLostError || error instanceof ConnectionBrokenError
		)
	)
		return "give_up";
	if (error.code === "SESSION_LOST") return "give_up";
	if (error.ran === "no")
		return attempts - begun < MAX_UNBEGUN_ATTEMPTS ? "retry" : "give_up";
	return begun <= idempotentRetries ? "retry" : "give_up";
}
