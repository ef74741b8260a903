import type { ControlledEvent, RunningCall } from "@snakepit/control";
import type { RecordedCall } from "../../src/dash/run-source.ts";

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

/** A call that has ended, as its event or the ledger reports it. */
export interface SettledCall extends TriedCall {
	readonly runId: string;
	/** Unique within its pool. */
	readonly callId: string;
	readonly wallMs: number;
	readonly pool: string;
	/** `undefined` where the ledger does not keep what calls are about. */
	readonly command: string | undefined;
	readonly outcome: "succeeded" | "failed" | "aborted" | "timed_out";
	readonly totalMs: number;
	readonly message: string | undefined;
	readonly ran: string | undefined;
	/** The error that the tool raised, as its language describes it. */
	readonly traceback: string | undefined;
	readonly traceId: string | undefined;
	/** The part of the arguments that the program shows. */
	readonly args: unknown;
	/** The worker of its last attempt. */
	readonly workerId: string | undefined;
	/** How many more calls failed alike within the same second, and are not listed. */
	readonly alike: number;
	/** Of the ledger, which does not keep each attempt: how long it waited and ran. */
	readonly sums?: { readonly waitedMs: number; readonly ranMs: number };
}

/** Reads the event `call.settled`. */
export function settledCall(
	event: ControlledEvent,
	runId: string,
): SettledCall {
	const fields = event as unknown as SettledCall & {
		readonly remote?: { readonly traceback?: string };
	};
	const { callId, wallMs, pool, command, outcome, attempts, totalMs } = fields;
	const attemptDetails = fields.attemptDetails ?? [];
	return {
		...{ runId, callId, wallMs, pool, command, outcome, attempts, totalMs },
		attemptDetails,
		code: fields.code ?? undefined,
		message: fields.message ?? undefined,
		ran: fields.ran ?? undefined,
		traceback: fields.remote?.traceback ?? undefined,
		traceId: fields.traceId ?? undefined,
		args: fields.args ?? undefined,
		workerId: attemptDetails.at(-1)?.workerId,
		alike: 0,
	};
}

/** A failed call of the ledger. It has no attempts one by one, but their sums. */
export function recordedCall(call: RecordedCall): SettledCall {
	const { runId, callId, wallMs, pool, outcome, attempts, totalMs } = call;
	return {
		...{ runId, callId, wallMs, pool, outcome, attempts, totalMs },
		attemptDetails: [],
		...{ command: call.command, code: call.code, message: call.message },
		...{ ran: call.ran, traceback: call.traceback, traceId: call.traceId },
		...{ args: call.args, workerId: call.workerId, alike: call.alike },
		sums: { waitedMs: call.waitedMs, ranMs: call.ranMs },
	};
}

/** Which calls a list shows, and which of them in detail: the query of the page's address. */
export interface CallFilter {
	/** `"failed"`: all that did not succeed. */
	readonly outcome: "all" | "failed" | "succeeded";
	/** The pool that they are of; `""` stands for all. */
	readonly of: string;
	/** Is in its command, code, message, worker or id. */
	readonly text: string;
}

export function callFilter({
	outcome,
	of = "",
	text = "",
}: Readonly<Record<string, string | undefined>>): CallFilter {
	return {
		outcome: outcome === "failed" || outcome === "succeeded" ? outcome : "all",
		...{ of, text },
	};
}

/** The calls that pass a filter: those that failed before those that succeeded, and the latest first. */
export function listedCalls(
	calls: readonly SettledCall[],
	filter: CallFilter,
): readonly SettledCall[] {
	const shown = calls.filter((call) => passes(call, filter));
	return shown.toSorted(
		(a, b) =>
			Number(isFine(a)) - Number(isFine(b)) ||
			b.wallMs - a.wallMs ||
			keyOf(a).localeCompare(keyOf(b)),
	);
}

export function isFine({ outcome }: Pick<SettledCall, "outcome">): boolean {
	return outcome === "succeeded";
}

/** Names one call of all runs. */
export function keyOf({
	runId,
	pool,
	callId,
}: Pick<SettledCall, "runId" | "pool" | "callId">): string {
	return `${runId} ${callId} ${pool}`;
}

function passes(call: SettledCall, filter: CallFilter): boolean {
	if (filter.of !== "" && call.pool !== filter.of) return false;
	if (
		filter.outcome !== "all" &&
		isFine(call) !== (filter.outcome === "succeeded")
	)
		return false;
	const wanted = filter.text.toLowerCase();
	const { command, code, message, callId, pool, workerId, outcome } = call;
	return [command, code, message, callId, pool, workerId, outcome].some(
		(text) => text?.toLowerCase().includes(wanted),
	);
}

/** Calls that the page has seen, and those of the ledger; what the page has seen of one is more. */
export function mergedCalls(
	seen: readonly SettledCall[],
	recorded: readonly SettledCall[],
): readonly SettledCall[] {
	const known = new Set(seen.map(keyOf));
	return [...seen, ...recorded.filter((call) => !known.has(keyOf(call)))];
}
