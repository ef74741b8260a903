import type { ControlledEvent, RunningCall } from "@snakepit/control";

/** An attempt of a call; `null` stands for values that JSON cannot carry. */
export interface ShownAttempt {
	readonly workerId: string;
	readonly waitedMs: number;
	readonly ranMs: number;
	readonly code: string | null;
	readonly pauseMs: number | null;
}

/** A call that had at least one attempt. */
export interface TriedCall {
	readonly attempts: number;
	/** The last of them. */
	readonly attemptDetails: readonly ShownAttempt[];
	/** `undefined` while it runs. */
	readonly totalMs: number | undefined;
	/** Of its error. */
	readonly code: string | undefined;
}

/** A call that runs. */
export function runningCall(
	{ attempt, failedAttempts, waitedMs, forMs }: RunningCall,
	workerId: string,
): TriedCall {
	const now = { workerId, waitedMs, ranMs: forMs, code: null, pauseMs: null };
	return {
		attempts: attempt,
		attemptDetails: [...failedAttempts, now],
		totalMs: undefined,
		code: undefined,
	};
}

/** A call that has ended, as its event reports it. */
export interface SettledCall extends TriedCall {
	readonly callId: string;
	readonly wallMs: number;
	readonly pool: string;
	readonly command: string;
	readonly outcome: "succeeded" | "failed" | "aborted" | "timed_out";
	readonly totalMs: number;
	readonly message: string | undefined;
	readonly ran: string | undefined;
	/** The error that the tool raised, as its language describes it. */
	readonly traceback: string | undefined;
	readonly traceId: string | undefined;
	/** The part of the arguments that the program shows. */
	readonly args: unknown;
}

/** Reads the event `call.settled`. */
export function settledCall(event: ControlledEvent): SettledCall {
	const fields = event as unknown as SettledCall & {
		readonly remote?: { readonly traceback?: string };
	};
	const { callId, wallMs, pool, command, outcome, attempts, totalMs } = fields;
	return {
		...{ callId, wallMs, pool, command, outcome, attempts, totalMs },
		attemptDetails: fields.attemptDetails ?? [],
		code: fields.code ?? undefined,
		message: fields.message ?? undefined,
		ran: fields.ran ?? undefined,
		traceback: fields.remote?.traceback ?? undefined,
		traceId: fields.traceId ?? undefined,
		args: fields.args ?? undefined,
	};
}
