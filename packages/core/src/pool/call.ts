import type { CallInstrument } from "../instrument.ts";
import type { Timer } from "../world.ts";
import type { CallAttempt } from "./attempt.ts";
import type { CallInput } from "./call-input.ts";
import type { Waiting } from "./priority-queue.ts";
import type { Session } from "./session-table.ts";
import type { CallerContext, Work } from "./work.ts";

/** Where a call is. A field exists only where it means something. */
export type CallState =
	| {
			readonly kind: "waiting";
			readonly sinceMs: number;
			readonly timer: Timer | undefined;
	  }
	| { readonly kind: "running"; readonly attempt: CallAttempt }
	| { readonly kind: "settled" };

/** One call of a caller, from its acceptance to its one settlement. */
export interface Call extends Waiting {
	readonly callId: string;
	readonly command: string;
	readonly args: unknown;
	readonly work: Work;
	readonly session: Session | undefined;
	readonly context: CallerContext;
	readonly signal: AbortSignal | undefined;
	readonly input: CallInput | undefined;
	readonly traceContext: Readonly<Record<string, string>>;
	readonly idempotentRetries: number;
	readonly queueTimeoutMs: number;
	readonly acceptedMs: number;
	/** On the monotonic clock; `undefined` without a deadline. */
	readonly deadlineMs: number | undefined;
	state: CallState;
	attempts: number;
	/** Those of them that are over and may have begun. */
	begun: number;
	/** Whoever follows it; most often nobody. */
	instrument: CallInstrument | undefined;
	/** Undoes what watches for its abort and its deadline. */
	unwatch: () => void;
}
