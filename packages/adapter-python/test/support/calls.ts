import { AsyncResource } from "node:async_hooks";
import type { CallOptions, Connection } from "@snakepit/core/adapter";

let calls = 0;

/** What travels with a call, for those who only care about a part of it. */
export function callOptions(given: Partial<CallOptions> = {}): CallOptions {
	return {
		callId: `call-${++calls}`,
		signal: new AbortController().signal,
		context: new AsyncResource("test"),
		timeoutMs: undefined,
		sessionId: undefined,
		input: undefined,
		traceContext: {},
		...given,
	};
}

/** Runs one command. */
export function call(
	connection: Connection,
	command: string,
	args?: unknown,
	given: Partial<CallOptions> = {},
): Promise<unknown> {
	return connection.execute(command, args, callOptions(given));
}

/** Opens one stream. */
export function streamOf(
	connection: Connection,
	command: string,
	args?: unknown,
	given: Partial<CallOptions> = {},
): AsyncIterator<unknown> {
	const stream = connection.stream?.(command, args, callOptions(given));
	if (stream === undefined) throw new TypeError("the connection has no stream");
	return stream[Symbol.asyncIterator]();
}

/** What a promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
	try {
		await promise;
	} catch (error) {
		return error;
	}
	throw new Error("it did not reject");
}
