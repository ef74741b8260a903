import type { CallProgress } from "../../contract/connection.ts";
import { OptionsError, type ToolError } from "../../contract/errors.ts";
import {
	aFunction,
	anObject,
	type Check,
	checkOptions,
	milliseconds,
	nonEmptyText,
	oneOf,
	optional,
	show,
	wholeNumber,
} from "../../options/check.ts";

/** Declares a call idempotent: the pool may retry it when it fails. */
export interface RetryOptions {
	/** How many attempts there may be, including the first. */
	readonly attempts: number;
	/** The pause before the second attempt. It doubles before each further one, up to 30 s, and is shortened at random by up to half. @default 0 ms */
	readonly backoffMs?: number | undefined;
	/**
	 * Whether a failure of the command itself is retried, too. Without it, only the death or loss of a worker is. It must
	 * be synchronous: an async function is rejected. If it throws, the call is not retried.
	 */
	readonly on?: ((error: ToolError) => boolean) | undefined;
}

export const RETRY_DEFAULTS = { backoffMs: 0 } as const;

/** One that is compiled to an older JavaScript is not seen here, but when it returns a promise. */
const decidesAtOnce: Check = (value) =>
	Object.prototype.toString.call(value) === "[object AsyncFunction]"
		? "must be a function that returns true or false, not an async one"
		: aFunction(value);

export const RETRY_CHECKS: Readonly<Record<keyof RetryOptions, Check>> = {
	attempts: wholeNumber(1, 100),
	backoffMs: optional(milliseconds(0)),
	on: optional(decidesAtOnce),
};

/** @throws OptionsError when it is an object with options that are not right. */
const isRetry: Check = (value) => {
	if (anObject(value) !== undefined) return anObject(value);
	checkOptions("pool.execute retry", value, RETRY_CHECKS);
	return undefined;
};

/** Settings of one call. */
export interface ExecuteOptions {
	/** Ends the call: its promise rejects immediately, and the tool is cancelled. */
	readonly signal?: AbortSignal | undefined;
	/** Deadline, including the time in the queue; by default `calls.timeoutMs`. */
	readonly timeoutMs?: number | undefined;
	/** How long it may wait for a worker; `queue.timeoutMs` by default. */
	readonly queueTimeoutMs?: number | undefined;
	/** Calls with a higher priority run first; equal ones in order of arrival. @default 0 */
	readonly priority?: number | undefined;
	/**
	 * Declares the call idempotent: when and how often it may be retried. No effect with `input`, whose items can be read
	 * only once.
	 */
	readonly retry?: RetryOptions | undefined;
	/** Items that the command reads while it runs. A Node stream is destroyed when the call ends, however it ends. */
	readonly input?: AsyncIterable<unknown> | Iterable<unknown> | undefined;
	/**
	 * Called with the progress that the command reports, in the asynchronous context of the call: the first report at
	 * once, then the newest one at most ten times a second. Never after the call has ended. If it throws, that is
	 * reported as an event and the call continues.
	 */
	readonly onProgress?: ((progress: CallProgress) => void) | undefined;
	/** W3C trace context and baggage headers. */
	readonly traceContext?: Readonly<Record<string, string>> | undefined;
}

const isSignal: Check = (value) =>
	value instanceof AbortSignal ? undefined : "must be an AbortSignal";
const isIterable: Check = (value) =>
	typeof value === "object" &&
	value !== null &&
	(Symbol.asyncIterator in value || Symbol.iterator in value)
		? undefined
		: "must be an iterable or an async iterable";
const isHeaders: Check = (value) =>
	typeof value === "object" &&
	value !== null &&
	Object.values(value).every((each) => typeof each === "string")
		? undefined
		: "must be an object with string values";

/** What is left out. */
export const EXECUTE_DEFAULTS = { priority: 0 } as const;

export const EXECUTE_CHECKS: Readonly<Record<keyof ExecuteOptions, Check>> = {
	signal: optional(isSignal),
	timeoutMs: optional((value) =>
		value === Number.POSITIVE_INFINITY ? undefined : milliseconds(1)(value),
	),
	queueTimeoutMs: optional((value) =>
		value === Number.POSITIVE_INFINITY ? undefined : milliseconds(0)(value),
	),
	priority: optional(wholeNumber(-1_000_000, 1_000_000)),
	retry: optional(isRetry),
	input: optional(isIterable),
	onProgress: optional(aFunction),
	traceContext: optional(isHeaders),
};

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function checkExecuteOptions(at: string, options: ExecuteOptions): void {
	checkOptions(at, options, EXECUTE_CHECKS);
}

/** Checks what a caller gives. @throws OptionsError. */
export function checkCall(
	command: unknown,
	options: ExecuteOptions | undefined,
): void {
	if (typeof command !== "string" || command === "") {
		throw new OptionsError({
			code: "INVALID_OPTION",
			message: `pool.execute: the command ${nonEmptyText(command)}, got ${show(command)}.`,
		});
	}
	if (options !== undefined) checkExecuteOptions("pool.execute", options);
}

/** How a session holds on to its worker. */
export type Affinity =
	/** Prefers the worker of its last call, takes any other when that one is busy or gone. */
	| "hint"
	/** Only ever the one process of its first call; when that is gone, so is the session (`SESSION_LOST`). */
	| "strict";

/** How a session is opened. */
export interface SessionOptions {
	/** Must be unique among the pool's open sessions; by default a new one. */
	readonly id?: string | undefined;
	/**
	 * `"hint"` prefers the worker of the session's last call; `"strict"` only ever uses the worker of its first call.
	 * @default "hint"
	 */
	readonly affinity?: Affinity | undefined;
}

export const SESSION_DEFAULTS = { affinity: "hint" } as const;

export const SESSION_CHECKS: Readonly<Record<keyof SessionOptions, Check>> = {
	id: optional(nonEmptyText),
	affinity: optional(oneOf("hint", "strict")),
};

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function checkSessionOptions(options: SessionOptions): void {
	checkOptions("pool.session", options, SESSION_CHECKS);
}
