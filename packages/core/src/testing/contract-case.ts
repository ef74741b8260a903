import assert from "node:assert/strict";
import { clearTimeout, setTimeout } from "node:timers";
import { SnakepitError } from "../contract/errors.ts";

/**
 * One promise of a contract, free of any test runner: a rejected `run` is a
 * broken promise.
 */
export interface ContractCase {
	readonly title: string;
	run(): Promise<void>;
}

/** Passes the outcome of `promise` on, and rejects when there is none within `ms` of real time. */
export async function within<Value>(
	ms: number,
	what: string,
	promise: Promise<Value>,
): Promise<Value> {
	const late = Promise.withResolvers<never>();
	const timer = setTimeout(
		() =>
			late.reject(
				new assert.AssertionError({ message: `${what}: not within ${ms} ms.` }),
			),
		ms,
	);
	try {
		return await Promise.race([promise, late.promise]);
	} finally {
		clearTimeout(timer);
	}
}

/**
 * Returns what `promise` rejects with; rejects when it resolves, or when that is
 * no `SnakepitError`. May be awaited later: a case that fails first leaves no
 * unhandled rejection.
 */
export function failureOf(
	what: string,
	promise: Promise<unknown>,
): Promise<SnakepitError> {
	const failure = promise.then(
		(value) => {
			throw new assert.AssertionError({
				message: `${what}: resolved to ${JSON.stringify(value)} instead of rejecting.`,
			});
		},
		(error: unknown) => {
			if (error instanceof SnakepitError) return error;
			if (error instanceof assert.AssertionError) throw error;
			throw new assert.AssertionError({
				message: `${what}: rejected with an error that is no SnakepitError: ${String(error)}`,
			});
		},
	);
	failure.catch(() => undefined);
	return failure;
}

/** Checks the class of an error, and says in words what it is instead. */
export function assertKind<Kind extends SnakepitError>(
	error: SnakepitError,
	kind: abstract new (...fields: never) => Kind,
): asserts error is Kind {
	assert.ok(
		error instanceof kind,
		`${error.name} is no ${kind.name}: ${error.message}`,
	);
}
