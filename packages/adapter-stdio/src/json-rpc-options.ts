import type { CallProgress } from "@snakepit/core/adapter";
import {
	aFunction,
	anObject,
	type Check,
	checkOptions,
	oneOf,
	optional,
} from "@snakepit/core/options";
import { STDIO_CHECKS, type StdioOptions } from "./stdio-options.ts";

/** Requests and notifications to one worker: the client that `pool.use` gives to its tasks. */
export interface JsonRpcClient {
	/**
	 * Resolves to the result of a request. After `signal` aborts the program is asked to cancel it.
	 *
	 * @throws ToolError the program answered with an error; InputError it has no such method, or the params are wrong;
	 *   CallAbortedError; ConnectionBrokenError.
	 */
	request(
		method: string,
		params?: unknown,
		options?: {
			readonly signal?: AbortSignal | undefined;
			/** Gets each part that the program reports, if the adapter has `progress`. */
			readonly onPart?: ((part: unknown) => void) | undefined;
		},
	): Promise<unknown>;
	notify(method: string, params?: unknown): void;
}

/** Handles a request of the program. `signal` aborts when the conversation ends. */
export type JsonRpcHandler = (
	params: unknown,
	context: { readonly signal: AbortSignal },
) => unknown;

/** How a protocol reports parts of a result, for `pool.stream`, or progress, for `onProgress`. */
export interface JsonRpcProgress {
	/** Returns the params of a request, with the token that its parts will carry. */
	ask(params: unknown, token: number): unknown;
	/** Returns the token and the part of a notification; `undefined` if it reports none. */
	read(
		method: string,
		params: unknown,
	): { readonly token: unknown; readonly value: unknown } | undefined;
	/** Converts a part of a request made by `pool.execute` to a progress report; without this, `onProgress` gets no reports. */
	report?: ((value: unknown) => Partial<CallProgress> | undefined) | undefined;
}

/** How a program speaks JSON-RPC 2.0. Also takes the options of `StdioOptions` and `ProgramOptions`. */
export interface JsonRpcOptions extends StdioOptions {
	/** `"lines"`: one message per line; `"content-length"`: with a header, as language servers use it. @default "lines" */
	readonly framing?: "lines" | "content-length" | undefined;
	/**
	 * Prepares the conversation before the first call, for example with the protocol's `initialize`. Its result is shown
	 * as the worker's `facts`.
	 */
	readonly ready?:
		| ((
				client: JsonRpcClient,
				signal: AbortSignal,
		  ) => Promise<Readonly<Record<string, unknown>> | undefined>)
		| undefined;
	/**
	 * By method: handlers of requests that the program sends, and of notifications that should not become
	 * `worker.notified`.
	 */
	readonly handlers?: Readonly<Record<string, JsonRpcHandler>> | undefined;
	/**
	 * Creates the notification that cancels a request; by default `$/cancelRequest` with its id. `"none"`: the protocol
	 * has no such notification.
	 */
	readonly cancel?:
		| ((
				id: number,
				reason: unknown,
		  ) => { readonly method: string; readonly params: unknown })
		| "none"
		| undefined;
	/**
	 * When a worker has finished a cancelled request. `"answered"`: when the program answers it, as language servers do;
	 * if it does not in time, the worker is replaced. `"immediately"`: the program never answers it and takes other
	 * requests. `"unknown"`: the program never answers it, so the worker takes no more calls and is replaced.
	 * @default "answered"
	 */
	readonly cancelled?: "answered" | "immediately" | "unknown" | undefined;
	/** How the program reports partial results, for `pool.stream`; without it, `pool.stream` is not available. */
	readonly progress?: JsonRpcProgress | undefined;
	/** Asks the program to end before its standard input is closed, for example with the protocol's `shutdown`. */
	readonly leave?: ((client: JsonRpcClient) => Promise<void>) | undefined;
}

export const JSON_RPC_DEFAULTS = {
	framing: "lines",
	cancelled: "answered",
} as const;

export const JSON_RPC_CHECKS: Readonly<Record<keyof JsonRpcOptions, Check>> = {
	...STDIO_CHECKS,
	framing: optional(oneOf("lines", "content-length")),
	ready: optional(aFunction),
	handlers: optional(anObject),
	cancel: optional((value) =>
		value === "none"
			? undefined
			: aFunction(value) && 'must be a function or "none"',
	),
	cancelled: optional(oneOf("answered", "immediately", "unknown")),
	progress: optional(anObject),
	leave: optional(aFunction),
};

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function checkJsonRpcOptions(options: unknown): void {
	checkOptions("jsonRpc", options, JSON_RPC_CHECKS);
}
