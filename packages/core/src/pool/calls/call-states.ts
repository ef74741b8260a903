import {
	ConnectionBrokenError,
	type SnakepitError,
	WorkerLostError,
} from "../../contract/errors.ts";
import { backoffMs } from "../../worker/restarts.ts";
import { asBegun } from "./call-errors.ts";
import {
	type Affinity,
	RETRY_DEFAULTS,
	type RetryOptions,
} from "./call-options.ts";

/** Where a call is; `CallState` says what each state keeps. */
export type CallStateKind =
	/** In the queue, or about to be placed. */
	| "waiting"
	/** Sent to a worker that still runs another call. For its caller it waits. */
	| "prefetched"
	| "running"
	/** Its worker can answer no more; the end of the worker will tell why. */
	| "unanswerable"
	/** Its attempt has failed, and it is being decided whether there is another one. */
	| "failing"
	/** The next attempt begins when the pause is over. */
	| "pausing"
	/** Over for its caller; its worker has not finished it. */
	| "cancelling"
	| "settled";

/** What can happen to a call. */
export type CallTrigger<Worker> =
	| Placing<Worker>
	/** Its worker runs it now: a prefetched call has its turn, or shows that it has begun. */
	| { readonly kind: "began" }
	/** The host has recalled it, with others of its worker: it seeks a worker when all of them are back. */
	| { readonly kind: "recalled" }
	/** Its worker shows that it did not begin the call, and never will. */
	| { readonly kind: "recall_confirmed" }
	| { readonly kind: "answered"; readonly answer: unknown }
	| { readonly kind: "failed"; readonly error: SnakepitError }
	/** The connection to its worker broke. */
	| { readonly kind: "broke" }
	| JudgedFailure
	| { readonly kind: "paused_enough" }
	/** It ends, whatever it does: aborted, past its deadline, or refused by what became of the pool. */
	| { readonly kind: "given_up"; readonly error: SnakepitError };

/** Where a call that seeks a worker goes. */
export type Placing<Worker> =
	/** This worker has room for it. */
	| { readonly kind: "placed"; readonly worker: Worker }
	/** None has, but this one prefetches it. */
	| { readonly kind: "prefetchable"; readonly worker: Worker }
	| NoWorker;

/** No worker has room for a call. */
export interface NoWorker {
	readonly kind: "no_worker";
	/** `"full"`: for a new call. One that was accepted before keeps its place in the queue, whatever the limit. */
	readonly queue: "open" | "full";
	/** The one process that its strict session is bound to; a call without one has those of the pool. */
	readonly process: "there" | "gone";
}

/** A failed attempt, with what the decision about the next one depends on. */
export interface JudgedFailure {
	readonly kind: "judged";
	readonly error: SnakepitError;
	readonly nowMs: number;
	/** `"accepted"`: the caller has this failure of the command retried. */
	readonly byCaller: "accepted" | "not accepted";
	/** A number from 0 to 1, by chance. */
	readonly fraction: number;
}

/** What is done when a call has changed its state, in this order. */
export type CallEffect =
	/** Its worker runs it from now on, as far as is known here. */
	| "begin"
	/** It waits in the window of its worker. */
	| "prefetch"
	/** The attempt goes to its worker. */
	| "send"
	| "count_recall"
	/** It takes its place in the queue. */
	| "queue"
	| "leave_queue"
	| "seek_worker"
	| "start_pause"
	/** The cancel is sent to its worker, which has `calls.cancelGraceMs` to finish. */
	| "cancel"
	/** The attempt is over. */
	| "release"
	/** The caller is asked whether the failure is retried. */
	| "judge"
	| "report_retry"
	/** The caller gets the answer or the error. */
	| "settle"
	/** Its worker takes another call. */
	| "free_worker";

/** What a trigger does to a call. */
export interface CallStep {
	readonly to: CallStateKind;
	readonly effects: readonly CallEffect[];
	/** With which the call is settled. */
	readonly error?: SnakepitError;
	/** Instead of an error: the pool makes that. */
	readonly refusal?: "queue_full" | "session_lost";
	readonly retry?: Retry;
}

/** Why a call is made again, and when. */
export interface Retry {
	readonly because: SnakepitError;
	readonly pauseMs: number;
}

/** What the decisions depend on; a `Call` has it. */
export interface CallHistory {
	readonly state: { readonly kind: CallStateKind };
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

type Decision<Kind> = (
	call: CallHistory,
	trigger: Extract<CallTrigger<unknown>, { readonly kind: Kind }>,
) => CallStep;

type Row = {
	readonly [Kind in CallTrigger<unknown>["kind"]]?: CallStep | Decision<Kind>;
};

const GIVEN_UP: Decision<"given_up"> = (_, { error }) => ({
	to: "settled",
	effects: ["settle"],
	error,
});

const WAITING: Row = {
	placed: { to: "running", effects: ["begin", "send"] },
	prefetchable: { to: "prefetched", effects: ["prefetch", "send"] },
	no_worker: afterNoWorker,
	given_up: (_, { error }) => ({
		to: "settled",
		effects: ["leave_queue", "settle"],
		error,
	}),
};

const RUNNING: Row = {
	recall_confirmed: {
		to: "waiting",
		effects: ["release", "seek_worker", "free_worker"],
	},
	answered: { to: "settled", effects: ["release", "settle", "free_worker"] },
	failed: { to: "failing", effects: ["release", "judge", "free_worker"] },
	broke: { to: "unanswerable", effects: [] },
	given_up: (_, { error }) => ({
		to: "cancelling",
		effects: ["cancel", "settle"],
		error,
	}),
};

const { broke: _broke, ...UNANSWERABLE } = RUNNING;

const FINISHED: CallStep = {
	to: "settled",
	effects: ["release", "free_worker"],
};

/** What a trigger does to a call in each state; nothing where the table has no entry. */
const STEPS: Readonly<Record<CallStateKind, Row>> = {
	waiting: WAITING,
	prefetched: {
		began: { to: "running", effects: ["begin"] },
		recalled: { to: "waiting", effects: ["count_recall"] },
		recall_confirmed: {
			to: "waiting",
			effects: ["count_recall", "seek_worker"],
		},
		// What it reports shows that it has begun.
		answered: {
			to: "settled",
			effects: ["begin", "release", "settle", "free_worker"],
		},
		failed: {
			to: "failing",
			effects: ["begin", "release", "judge", "free_worker"],
		},
	},
	running: RUNNING,
	unanswerable: {
		...UNANSWERABLE,
		// There is nothing to cancel any more.
		given_up: (_, { error }) => ({
			to: "cancelling",
			effects: ["settle"],
			error,
		}),
	},
	failing: { judged: afterFailure, given_up: GIVEN_UP },
	pausing: {
		paused_enough: { to: "waiting", effects: ["seek_worker"] },
		given_up: GIVEN_UP,
	},
	cancelling: {
		recall_confirmed: FINISHED,
		answered: FINISHED,
		failed: FINISHED,
	},
	settled: {},
};

/** What happens next to a call. Everything that happens to one is decided here; `Calls` carries it out. */
export function stepCall<Worker>(
	call: CallHistory,
	trigger: CallTrigger<Worker>,
): CallStep | undefined {
	const entry = STEPS[call.state.kind][trigger.kind];
	return typeof entry === "function"
		? (entry as Decision<unknown>)(call, trigger as never)
		: entry;
}

function afterNoWorker(
	_call: CallHistory,
	{ queue, process }: NoWorker,
): CallStep {
	if (queue === "open" && process === "there") return QUEUED;
	return {
		to: "settled",
		effects: ["leave_queue", "settle"],
		refusal: queue === "full" ? "queue_full" : "session_lost",
	};
}

const QUEUED: CallStep = { to: "waiting", effects: ["queue"] };

/** However often a call may be retried, one that never began is not moved around for ever. */
const MAX_UNBEGUN_ATTEMPTS = 5;

/**
 * Work that never began is tried again, a few times. Work that may have begun is
 * tried again only as often as its caller allowed by declaring it idempotent, so
 * that a poisonous input does not take worker after worker down. A pause that would
 * outlast the deadline is not begun.
 */
function afterFailure(
	call: CallHistory,
	{ error, byCaller, nowMs, fraction }: JudgedFailure,
): CallStep {
	const { attempts, begun, retry, session, deadlineMs } = call;
	// What was delivered or read already cannot be undone.
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
	if (!isRetried || !isRepeatable || !isInTime || isSpent)
		return {
			to: "settled",
			effects: ["settle"],
			error: begun > 0 ? asBegun(error) : error,
		};
	const again = { because: error, pauseMs };
	return pauseMs === 0
		? {
				to: "waiting",
				effects: ["report_retry", "seek_worker"],
				retry: again,
			}
		: { to: "pausing", effects: ["report_retry", "start_pause"], retry: again };
}

/** Whether another worker may do better. */
function isWorkersEnd(error: SnakepitError): boolean {
	return (
		(error instanceof WorkerLostError && error.code !== "SESSION_LOST") ||
		error instanceof ConnectionBrokenError
	);
}

const LONGEST_PAUSE_MS = 30_000;

/**
 * How long a call pauses before it is made again.
 *
 * @param begun how many attempts may have begun; none is no reason to pause.
 * @param fraction a number from 0 to 1, so that calls that failed together do not return together.
 */
export function pauseBeforeRetry(
	retry: RetryOptions | undefined,
	begun: number,
	fraction: number,
): number {
	const firstMs = retry?.backoffMs ?? RETRY_DEFAULTS.backoffMs;
	const mostMs = Math.max(firstMs, LONGEST_PAUSE_MS);
	return backoffMs(begun + 1, firstMs, mostMs, fraction);
}
