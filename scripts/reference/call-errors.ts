import type { Entries } from "./error-entry.ts";

/** What a call or a session can meet. */
export const CALL_ERRORS = {
	QUEUE_FULL: {
		thrown: "QueueError",
		ran: "no",
		meaning: "Too many calls wait (or too many sessions are open).",
		remedy: "Send less at once; `queue.limit`, `size.max`.",
	},
	QUEUE_TIMEOUT: {
		thrown: "QueueError",
		ran: "no or maybe",
		meaning: "The call waited too long for a worker.",
		remedy: "`queueTimeoutMs`, `size.max`.",
	},
	POOL_CLOSED: {
		thrown: "QueueError",
		ran: "no or maybe",
		meaning: "The pool was closed before the call, or under it.",
		remedy: "Make calls before `close()`; `stop.drainMs`.",
	},
	WORKER_EXITED: {
		thrown: "WorkerLostError",
		ran: "maybe",
		meaning: "The worker died under the call.",
		remedy: "Its exit and last lines are in the message; `idempotentRetries`.",
	},
	WORKER_HUNG: {
		thrown: "WorkerLostError",
		ran: "maybe",
		meaning: "The worker did not answer any more and was replaced.",
		remedy: "Its stacks are among its last lines; `heartbeat`.",
	},
	WORKER_REPLACED: {
		thrown: "WorkerLostError",
		ran: "no or maybe",
		meaning:
			"Another call on the same worker could not be cancelled, so it was replaced; or the worker left before the call.",
		remedy: "`calls.cancelGraceMs`, `callsPerWorker`.",
	},
	SESSION_LOST: {
		thrown: "WorkerLostError",
		ran: "no or maybe",
		meaning: "The process that held a strict session is gone.",
		remedy: "Open a new session and build its state again.",
	},
	TOOL_NOT_FOUND: {
		thrown: "InputError",
		ran: "no",
		meaning: "The worker has no such tool.",
		remedy: "The message lists those it has.",
	},
	INVALID_ARGUMENTS: {
		thrown: "InputError",
		ran: "no or maybe",
		meaning:
			"The arguments, or an item of the input, do not fit the tool's signature.",
		remedy: "`path` says where, the message what is expected.",
	},
	VALUE_NOT_TRANSFERABLE: {
		thrown: "InputError",
		ran: "no or maybe",
		meaning: "A value has no image in the other language.",
		remedy: "`path` says where; [values](../values.md).",
	},
	MESSAGE_TOO_LARGE: {
		thrown: "InputError",
		ran: "no or maybe",
		meaning:
			"The arguments, or an item of the input, are larger than a message may be.",
		remedy: "`maxMessageBytes`, or a stream.",
	},
	RESULT_TOO_LARGE: {
		thrown: "InputError",
		ran: "maybe",
		meaning: "The result is larger than a message may be.",
		remedy: "`maxMessageBytes`, or a stream.",
	},
	SESSION_CLOSED: {
		thrown: "InputError",
		ran: "no",
		meaning: "The session was closed, or not used for too long.",
		remedy: "Open a new one; `sessions.ttlMs`.",
	},
	WRONG_SHAPE: {
		thrown: "InputError",
		ran: "no",
		meaning: "A tool that streams was called for one result, or the reverse.",
		remedy: "`pool.stream` or `pool.execute`.",
	},
	NOT_OFFERED: {
		thrown: "InputError",
		ran: "no",
		meaning: "The adapter does not offer this.",
		remedy: "The message says what it offers.",
	},
	CALL_ABORTED: {
		thrown: "CallAbortedError",
		ran: "no or maybe",
		meaning: "The caller's own signal ended the call.",
		remedy: "The signal's reason is the `cause`.",
	},
	CALL_TIMEOUT: {
		thrown: "CallTimeoutError",
		ran: "no or maybe",
		meaning: "The call's deadline passed.",
		remedy: "`timeoutMs`.",
	},
	TOOL_FAILED: {
		thrown: "ToolError",
		ran: "maybe",
		meaning: "The tool itself failed.",
		remedy:
			"`remote` is what its language says: type, message, traceback, cause.",
	},
	CONNECTION_BROKEN: {
		thrown: "ConnectionBrokenError",
		ran: "no or maybe",
		meaning:
			"For adapters: the conversation broke. Callers see `WORKER_EXITED`.",
		remedy: "",
	},
	IMPOSSIBLE_TRANSITION: {
		thrown: "SnakepitError",
		ran: "no or maybe",
		meaning: "A defect in Snakepit.",
		remedy: "Please report it.",
	},
} as const satisfies Entries;
