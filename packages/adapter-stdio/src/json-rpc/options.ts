import type { CallProgress } from "@snakepit/core/adapter";
import type { StdioOptions } from "../stdio-options.ts";
import type { JsonRpcClient } from "./json-rpc-client.ts";

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
	 * if it does not in time, the worker is replaced. `"at_once"`: at once; the program never answers it and takes other
	 * requests. `"unknown"`: the program never answers it, so the worker takes no more calls and is replaced.
	 * @default "answered"
	 */
	readonly cancelled?: "answered" | "at_once" | "unknown" | undefined;
	/** How the program reports partial results, for `pool.stream`; without it, `pool.stream` is not available. */
	readonly progress?: JsonRpcProgress | undefined;
	/**
	 * What happens to a message that is not JSON-RPC: `"log"` writes a warning to the worker's log, `"break"` replaces
	 * the worker.
	 * @default "log"
	 */
	readonly onGarbage?: "log" | "break" | undefined;
	/** Asks the program to end before its standard input is closed, for example with the protocol's `shutdown`. */
	readonly leave?: ((client: JsonRpcClient) => Promise<void>) | undefined;
}

export const JSON_RPC_DEFAULTS = {
	framing: "lines",
	cancelled: "answered",
	onGarbage: "log",
} as const;
