import {
	ConnectionBrokenError,
	type SnakepitError,
	WorkerLostError,
} from "../../contract/errors.ts";
import type { Call } from "./call.ts";
import { asBegun } from "./call-errors.ts";
import {
	type Affinity,
	pauseBeforeRetry,
	type RetryOptions,
} from "./call-options.ts";
import type { FailedAttempt } from "./failed-attempt.ts";

/** What can happen to a call. */
export type Occurrence<Worker> =
	/** A worker has room for it, when it is accepted or later. */
	| { readonly kind: "worker_found"; readonly worker: Worker }
	/** None has, but it may be sent behind the call that this worker runs. */
	| { readonly kind: "room_ahead"; readonly worker: Worker }
	/** No worker has, when it is accepted or is to be made again. */
	| Lack
	/** Its worker answered. */
	| { readonly kind: "answered"; readonly answer: unknown }
	/** The attempt failed, or its worker is gone. */
	| FailedAttempt
	/** It shall end, whatever it does: aborted, past its deadline, refused by what became of the pool. */
	| { readonly kind: "given_up"; readonly error: SnakepitError };

/** No worker has room for a call. */
export interface Lack {
	readonly kind: "no_worker";
	readonly queue: "open" | "full";
	/** The one process that its strict session is bound to; a call without one has those of the pool. */
	readonly process: "there" | "gone";
}

/** What the call does next. */
export type Step<Worker> =
	| { readonly kind: "run"; readonly worker: Worker }
	/** Is prefetched: it waits in a worker. */
	| { readonly kind: "send_ahead"; readonly worker: Worker }
	| { readonly kind: "wait" }
	/** Makes another attempt after the pause: a worker is looked for. */
	| {
			readonly kind: "retry";
			readonly because: SnakepitError;
			readonly pauseMs: number;
	  }
	| { readonly kind: "refuse"; readonly why: "queue_full" | "session_lost" }
	| { readonly kind: "succeed"; readonly answer: unknown }
	| { readonly kind: "fail"; readonly error: SnakepitError }
	/** The call is settled: nothing that happens to it counts any more. */
	| { readonly kind: "nothing" };

/** What the decision depends on; a `Call` has it. */
export interface Progress {
	readonly state: {
		readonly kind: Call["state"]["kind"];
	};
	/** How often it was tried, the attempt that is judged included. */
	readonly attempts: number;
	/** How many of those are over and may have begun. */
	readonly begun: number;
	/** How its caller allows work that may have begun to be done again. */
	readonly retry: RetryOptions | undefined;
	readonly session: { readonly affinity: Affinity } | undefined;
	readonly deadlineMs: number | undefined;
	readonly work: { readonly begun: boolean };
	readonly input: { readonly opened: "no" | "yes" } | undefined;
}

const NOTHING = { kind: "nothing" } as const;
const WAIT = { kind: "wait" } as const;

/** However often a call may be retried, one that never began is not moved around for ever. */
const MAX_UNBEGUN_ATTEMPTS = 5;

/** Decides what a call does next. Everything that happens to a call is decided here; `Calls` carries it out. */
export function nextStep<Worker>(
	call: Progress,
	occurrence: Occurrence<Worker>,
): Step<Worker> {
	if (call.state.kind === "settled") return NOTHING;
	switch (occurrence.kind) {
		case "worker_found":
			return { kind: "run", worker: occurrence.worker };
		case "room_ahead":
			return { kind: "send_ahead", worker: occurrence.worker };
		case "no_worker":
			// A call that was accepted before keeps its place in the queue, whatever the limit.
			if (occurrence.queue === "full" && call.attempts === 0)
				return { kind: "refuse", why: "queue_full" };
			return occurrence.process === "there"
				? WAIT
				: { kind: "refuse", why: "session_lost" };
		case "answered":
			return { kind: "succeed", answer: occurrence.answer };
		case "failed":
			return stepAfterFailure(call, occurrence);
		case "given_up":
			return { kind: "fail", error: occurrence.error };
	}
}

/**
 * Work that never began is tried again, a few times. Work that may have begun is
 * tried again only as often as its caller allowed by declaring it idempotent, so
 * that a poisonous input does not take worker after worker down. A pause that would
 * outlast the deadline is not begun.
 */
function stepAfterFailure(
	call: Progress,
	{ error, byCaller, nowMs, fraction }: FailedAttempt,
): Step<never> {
	const { attempts, begun, retry, session, deadlineMs } = call;
	// What was delivered or read already cannot be taken back.
	const isSpent = call.work.begun || call.input?.opened === "yes";
	const isRepeatable =
		error.ran === "no"
			? attempts - begun < MAX_UNBEGUN_ATTEMPTS
			: begun < (retry?.attempts ?? 1);
	const pauseMs = pauseBeforeRetry(retry, begun, fraction);
	const isInTime =
		pauseMs === 0 || deadlineMs === undefined || nowMs + pauseMs < deadlineMs;
	// What a strict session held went with its worker: no other one can do its work.
	const isBound = error.ran === "maybe" && session?.affinity === "strict";
	const isRetried =
		byCaller === "accepted" || (isWorkersEnd(error) && !isBound);
	return isRetried && isRepeatable && isInTime && !isSpent
		? { kind: "retry", because: error, pauseMs }
		: { kind: "fail", error: begun > 0 ? asBegun(error) : error };
}

/** Whether another worker may do better. */
function isWorkersEnd(error: SnakepitError): boolean {
	return (
		(error instanceof WorkerLostError && error.code !== "SESSION_LOST") ||
		error instanceof ConnectionBrokenError
	);
}
