import type { Ran } from "../error-codes.ts";
import {
	CallAbortedError,
	CallTimeoutError,
	QueueError,
	StartError,
} from "../errors.ts";
import type { Call } from "./call.ts";

export function queueFull(
	pool: string,
	waiting: number,
	running: number,
): QueueError {
	return new QueueError({
		code: "QUEUE_FULL",
		ran: "no",
		message: `The queue of pool ${pool} is full: ${waiting} calls are waiting (queue.limit) and ${running} are running. Send fewer at once, add workers (size.max), or raise queue.limit.`,
	});
}

/** There is no worker, and none could be started. Each call gets an error of its own. */
export function noWorker(error: StartError, call: Call): StartError {
	return new StartError({
		code: error.code,
		ran: ranOf(call),
		message: error.message,
		cause: error.cause,
	});
}

function ranOf(call: Pick<Call, "attempts">): Ran {
	return call.attempts > 0 ? "maybe" : "no";
}

export function queueTimedOut(
	pool: string,
	call: Call,
	waiting: number,
): QueueError {
	return new QueueError({
		code: "QUEUE_TIMEOUT",
		ran: ranOf(call),
		message: `Call ${call.callId} (${call.command}) waited ${call.queueTimeoutMs} ms for a worker of pool ${pool}, with ${waiting} ${waiting === 1 ? "call" : "calls"} waiting. Add workers (size.max), or wait longer (queueTimeoutMs).`,
	});
}

/** Of what is asked of a pool that is closed already. */
export function poolClosed(pool: string, command: string): QueueError {
	return new QueueError({
		code: "POOL_CLOSED",
		ran: "no",
		message: `Pool ${pool} is closed, so "${command}" was not run. Make calls before close().`,
	});
}

/** Of a call that was there when its pool was closed. */
export function cutByClose(
	pool: string,
	call: Pick<Call, "command" | "attempts" | "state">,
	drainMs: number,
): QueueError {
	const { command, state } = call;
	const what =
		state.kind === "running"
			? `was running, and it did not end within ${drainMs} ms`
			: `waited, and its turn did not come within ${drainMs} ms`;
	return new QueueError({
		code: "POOL_CLOSED",
		ran: ranOf(call),
		message: `Pool ${pool} was closed while "${command}" ${what}: close() gives calls stop.drainMs, or its own drainMs; a signal gives them less.`,
	});
}

export function timedOut(
	pool: string,
	call: Call,
	nowMs: number,
): CallTimeoutError {
	const running = call.state.kind === "running";
	const where = running
		? "while it was running"
		: "while it waited for a worker";
	// The timer may ring a little early: nothing passes before its time.
	const passedMs = Math.max(nowMs, call.deadlineMs ?? nowMs) - call.acceptedMs;
	return new CallTimeoutError({
		code: "CALL_TIMEOUT",
		ran: ranOf(call),
		message: `Call ${call.callId} (${call.command}) of pool ${pool} passed its deadline after ${Math.round(passedMs)} ms, ${where} (timeoutMs).`,
	});
}

export function aborted(
	pool: string,
	call: Call,
	reason: unknown,
): CallAbortedError {
	return new CallAbortedError({
		code: "CALL_ABORTED",
		ran: ranOf(call),
		message: `Call ${call.callId} (${call.command}) of pool ${pool} was aborted by its caller.`,
		cause: reason,
	});
}

/** What a stream has for a result whose consumer left before the first item. */
export function streamUnread(command: string): CallAbortedError {
	return new CallAbortedError({
		code: "CALL_ABORTED",
		ran: "no",
		message: `The stream of "${command}" was left before anything of it was read, so it was not run and has no result. Read it to its end for one.`,
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
