import type { SnakepitError } from "@snakepit/core";
import type { MadeCall } from "./made-call.ts";
import type { Chosen } from "./setting.ts";

/** What a call may end with whatever its tool does. */
const ANY_CALL: ReadonlySet<string> = new Set([
	"CALL_ABORTED",
	"CALL_TIMEOUT",
	"QUEUE_TIMEOUT",
	"QUEUE_FULL",
	"POOL_CLOSED",
	"WORKER_EXITED",
	"WORKER_REPLACED",
	"WORKER_HUNG",
	"SESSION_LOST",
	"SESSION_CLOSED",
]);

/** Whether the pool was told to close by the time the call ended. */
export type PoolState = "open" | "closing";

/** Says what is wrong with the error that a call ended with; `undefined` when nothing is. */
export function wrongWith(
	call: MadeCall,
	{ code, ran, cause }: SnakepitError,
	{ queueLimit, ttlMs }: Chosen,
	state: PoolState,
): string | undefined {
	if (!ANY_CALL.has(code) && !call.mayFail.includes(code))
		return "nothing that was done leads to it";
	const { options, session, madeAt } = call;
	const { signal, timeoutMs, queueTimeoutMs } = options;
	switch (code) {
		case "CALL_ABORTED":
			if (signal?.aborted !== true) return "nobody aborted it";
			return cause === signal.reason ? undefined : "another reason";
		case "CALL_TIMEOUT": {
			const tookMs = performance.now() - madeAt;
			return timeoutMs !== undefined && tookMs > timeoutMs - 5
				? undefined
				: `${tookMs} ms of ${timeoutMs}`;
		}
		case "QUEUE_TIMEOUT":
			return queueTimeoutMs === undefined ? "it had no limit" : undefined;
		case "QUEUE_FULL":
			return queueLimit > 100 ? "it was not full" : undefined;
		case "POOL_CLOSED":
			return state === "open" ? "it is open" : undefined;
		case "WORKER_REPLACED":
			// What a leaving worker refuses runs on the next, but for what was read of the input.
			return ran === "no" && options.input === undefined
				? "no other worker was tried"
				: undefined;
		case "SESSION_LOST":
			return session?.affinity === "strict" ? undefined : "it is not strict";
		case "SESSION_CLOSED":
			return session?.state === "open" && ttlMs > 1_000 && state === "open"
				? "it is open"
				: undefined;
		default:
			return undefined;
	}
}
