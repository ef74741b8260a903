import type { Call } from "./call.ts";
import { streamUnread } from "./call-errors.ts";
import type { ExecuteOptions } from "./call-options.ts";
import type { Session } from "./session-table.ts";
import { captureContext, StreamWork, type Work } from "./work.ts";

/** Whoever takes calls. */
export interface CallTaker {
	submit(
		command: string,
		args: unknown,
		options: ExecuteOptions,
		work: Work,
		session: Session | undefined,
	): Call;
	/** The consumer of a stream left before its end. */
	abandon(call: Call): void;
}

/** The items of a stream in their order, and what its command returned after the last one. */
export interface CallStream<Chunk, Result = unknown>
	extends AsyncIterableIterator<Chunk, Result | undefined> {
	/**
	 * What the command returned, as `next()` says it once with `done: true`. Settles
	 * when the items were read to their end; one that nobody reads stays pending.
	 * Rejects with the error of the stream, and with `CALL_ABORTED` when it was left
	 * before its end. No unhandled rejection where nobody looks at it.
	 */
	readonly result: Promise<Result>;
}

type StreamState =
	| { readonly kind: "fresh" }
	| { readonly kind: "running"; readonly call: Call }
	| { readonly kind: "closed" };

/**
 * The consumer's side of a stream: the call begins with the first `next()`, in the
 * context of the one who made the stream.
 */
export function callStream<Chunk, Result>(
	taker: CallTaker,
	command: string,
	args: unknown,
	options: ExecuteOptions,
	session: Session | undefined,
): CallStream<Chunk, Result> {
	const work = new StreamWork();
	const context = captureContext();
	let state: StreamState = { kind: "fresh" };
	const begin = (): Call => {
		try {
			return context.runInAsyncScope(() =>
				taker.submit(command, args, options, work, session),
			);
		} catch (error) {
			work.fail(error as Error);
			throw error;
		}
	};
	return {
		get result(): Promise<Result> {
			return work.result as Promise<Result>;
		},
		async next(): Promise<IteratorResult<Chunk, Result | undefined>> {
			if (state.kind === "closed") return { done: true, value: undefined };
			if (state.kind === "fresh") {
				// One that is refused is over, too: its error is thrown once.
				state = { kind: "closed" };
				state = { kind: "running", call: begin() };
			}
			return (await work.next()) as IteratorResult<Chunk, Result | undefined>;
		},
		async return(): Promise<IteratorResult<Chunk, undefined>> {
			const left = state;
			state = { kind: "closed" };
			if (left.kind === "running") taker.abandon(left.call);
			if (left.kind === "fresh") work.fail(streamUnread(command));
			return { done: true, value: undefined };
		},
		[Symbol.asyncIterator](): CallStream<Chunk, Result> {
			return this;
		},
	};
}
