import type { ToolError } from "../../errors.ts";
import {
	aFunction,
	anObject,
	type Check,
	checkOptions,
	milliseconds,
	optional,
	wholeNumber,
} from "../../option-check.ts";
import { backoffMs } from "../../worker/backoff.ts";

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
export const isRetry: Check = (value) => {
	if (anObject(value) !== undefined) return anObject(value);
	checkOptions("pool.execute retry", value, RETRY_CHECKS);
	return undefined;
};

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
