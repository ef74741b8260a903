import type { Ran } from "../../contract/error-codes.ts";
import {
	CallAbortedError,
	CallTimeoutError,
	QueueError,
	SnakepitError,
	StartError,
} from "../../contract/errors.ts";
import type { CloseManner } from "../../contract/run-and-worker-states.ts";
import { counted } from "../../contract/text.ts";

/** What errors tell of a call; a `Call` has it. */
interface DescribedCall {
	readonly callId: string;
	readonly command: string;
	readonly work: { readonly shape: "unary" | "stream" | "lease" };
	readonly state: { readonly kind: string };
	readonly attempts: number;
	readonly retried: readonly unknown[] | undefined;
	readonly queueTimeoutMs: number;
	readonly acceptedMs: number;
	readonly deadlineMs: number | undefined;
}

export function queueFull(
	pool: string,
	waiting: number,
	running: number,
): QueueError {
	return new QueueError({
		code: "QUEUE_FULL",
		ran: "no",
		message: `The queue of pool ${pool} is full: ${counted(waiting, "call is", "calls are")} waiting (queue.limit) and ${counted(running, "is", "are")} running. Send fewer at once, add workers (size.max), or raise queue.limit.`,
	});
}

/** There is no worker, and none could be started. Each call gets an error of its own. */
export function noWorker(error: StartError, call: DescribedCall): StartError {
	return new StartError({
		code: error.code,
		ran: ranOf(call),
		message: error.message,
		cause: error.cause,
	});
}

/** A call as messages name it, in the middle of a sentence. */
export function named({
	callId,
	command,
	work,
}: Pick<DescribedCall, "callId" | "command" | "work">): string {
	return work.shape === "lease"
		? `lease ${callId}`
		: `call ${callId} (${command})`;
}

function begin(sentence: string): string {
	return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

/** What a call does: it is … */
function doing({ state }: Pick<DescribedCall, "state">): string {
	switch (state.kind) {
		case "running":
		case "unanswerable":
		case "failing":
			return "running";
		case "pausing":
			return "pausing before its next attempt";
		default:
			return "waiting for a worker";
	}
}

function ranOf(call: Pick<DescribedCall, "attempts">): Ran {
	return call.attempts > 0 ? "maybe" : "no";
}

export function queueTimedOut(
	pool: string,
	call: DescribedCall,
	waiting: number,
): QueueError {
	return new QueueError({
		code: "QUEUE_TIMEOUT",
		ran: ranOf(call),
		message: `${begin(named(call))} waited ${call.queueTimeoutMs} ms for a worker of pool ${pool}, with ${waiting} ${waiting === 1 ? "call" : "calls"} waiting. Add workers (size.max), or wait longer (queueTimeoutMs).`,
	});
}

/** Of what is asked of a pool that is closed already. */
export function poolClosed(pool: string, command: string): QueueError {
	return new QueueError({
		code: "POOL_CLOSED",
		ran: "no",
		message: `Pool ${pool} is closed, so "${command}" was not run. A pool closes with close(), with its run, when it cannot be started, and when the program has nothing left to do.`,
	});
}

/** Of a pool that was closed before it was open. */
export function closedWhileOpening(pool: string): QueueError {
	return new QueueError({
		code: "POOL_CLOSED",
		ran: "no",
		message: `Pool ${pool} was closed before it was open: with its run, or because the program ends.`,
	});
}

/** Of a call that was there when its pool was closed. */
export function cutByClose(
	pool: string,
	call: Pick<DescribedCall, "command" | "attempts" | "state" | "work">,
	drainMs: number,
	manner: CloseManner,
): QueueError {
	const { command, work } = call;
	const subject = work.shape === "lease" ? "a lease" : `"${command}"`;
	const why =
		manner === "forced"
			? `${doing(call)}: it was closed by force, which waits for no call`
			: `still ${doing(call)} after ${drainMs} ms: close() waits stop.drainMs for calls, or the drainMs that you pass; a signal waits less`;
	return new QueueError({
		code: "POOL_CLOSED",
		ran: ranOf(call),
		message: `Pool ${pool} was closed while ${subject} was ${why}.`,
	});
}

export function timedOut(
	pool: string,
	call: DescribedCall,
	nowMs: number,
): CallTimeoutError {
	// The timer may ring a little early: nothing passes before its time.
	const passedMs = Math.max(nowMs, call.deadlineMs ?? nowMs) - call.acceptedMs;
	return new CallTimeoutError({
		code: "CALL_TIMEOUT",
		ran: ranOf(call),
		message: `${begin(named(call))} of pool ${pool} passed its deadline after ${Math.round(passedMs)} ms, while it was ${doing(call)} (timeoutMs).`,
	});
}

export function aborted(
	pool: string,
	call: DescribedCall,
	reason: unknown,
): CallAbortedError {
	return new CallAbortedError({
		code: "CALL_ABORTED",
		ran: ranOf(call),
		message: `${begin(named(call))} of pool ${pool} was aborted by its caller.`,
		cause: reason,
	});
}

/** What a stream has for a result whose consumer left before the first item. */
export function streamUnread(command: string): CallAbortedError {
	return new CallAbortedError({
		code: "CALL_ABORTED",
		ran: "no",
		message: `The stream of "${command}" was closed before its first item was read, so the call was not run and has no result. To get one, read the stream to its end.`,
	});
}

/** A map of many calls that its caller gave up. */
export function mapAborted(
	pool: string,
	command: string,
	done: number,
	ran: Ran,
	reason: unknown,
): CallAbortedError {
	return new CallAbortedError({
		code: "CALL_ABORTED",
		ran,
		message: `The map of "${command}" in pool ${pool} was aborted by its caller, with ${done} ${done === 1 ? "item" : "items"} done.`,
		cause: reason,
	});
}

/**
 * The error of an attempt as that of its call, of which an earlier attempt may have
 * begun: another error where that one has `ran: "no"`, for an adapter may throw one
 * and the same for every call. It differs in nothing else.
 */
export function asBegun(error: SnakepitError): SnakepitError {
	if (error.ran === "maybe") return error;
	return changed(error, { ran: "maybe" });
}

/** The error of a call that was made again, with its `attempts`; that of any other call as it is. */
export function afterAttempts(
	error: SnakepitError,
	{ retried, attempts }: Pick<DescribedCall, "retried" | "attempts">,
): SnakepitError {
	if (retried === undefined) return error;
	const message = `After ${attempts} ${attempts === 1 ? "attempt" : "attempts"}: ${error.message}`;
	return changed(error, { attempts, message });
}

/** The error of one call of a map, with the `item` it is of; any other as it is. */
export function ofItem(error: unknown, item: number): unknown {
	if (!(error instanceof SnakepitError)) return error;
	return changed(error, { item, message: `Item ${item}: ${error.message}` });
}

/** A copy of an error with some fields changed. */
function changed(
	error: SnakepitError,
	changes: Partial<
		Pick<SnakepitError, "ran" | "item" | "attempts" | "message">
	>,
): SnakepitError {
	const { stack: _, ...fields } = Object.getOwnPropertyDescriptors(error);
	const { message } = changes;
	// Not by its descriptor: that may be a getter of the very error that has it.
	const stack =
		message === undefined
			? error.stack
			: error.stack?.replace(error.message, () => message);
	// Made by the constructor, so that it is an error to the engine as well.
	const copy = new Error();
	Object.setPrototypeOf(copy, Object.getPrototypeOf(error));
	Object.defineProperties(copy, {
		...fields,
		stack: { ...HIDDEN, value: stack },
	});
	for (const [name, value] of Object.entries(changes)) {
		const enumerable = fields[name as keyof typeof fields]?.enumerable ?? true;
		Object.defineProperty(copy, name, { ...HIDDEN, enumerable, value });
	}
	return copy as SnakepitError;
}

const HIDDEN = { configurable: true, enumerable: false, writable: true };
