import { AsyncResource } from "node:async_hooks";
import type { CallOptions, Connection } from "../../contract/connection.ts";
import { InputError } from "../../contract/errors.ts";
import { failing } from "../../contract/thrown.ts";
import {
	type Attempted,
	type Call,
	ENDED_BY_OWNER,
	type LongWork,
} from "../calls/call.ts";
import { streamUnread } from "../calls/call-errors.ts";
import type { ExecuteOptions } from "../calls/call-options.ts";
import type { Calls } from "../calls/calls.ts";
import type { Session } from "../placement/session-table.ts";

/** The items of a stream, in order, and what its command returned after the last one. */
export interface CallStream<Chunk, Result = unknown>
	extends AsyncIterableIterator<Chunk, Result | undefined> {
	/**
	 * What the command returned: the value that `next()` has once, with `done: true`. Settles when all items have been
	 * read; stays pending while the stream is unread. Rejects with the error of the stream, or with `CALL_ABORTED` if you
	 * leave the stream early. It causes no unhandled rejection if nothing awaits it.
	 */
	readonly result: Promise<Result>;
}

type StreamState =
	| { readonly kind: "fresh" }
	/** Its call is being made. */
	| { readonly kind: "beginning" }
	| { readonly kind: "running"; readonly call: Call }
	| { readonly kind: "closed" };

/**
 * Makes a stream: its call begins with the first `next()`, in the asynchronous
 * context in which the stream was made.
 */
export function callStream<Chunk, Result>(
	calls: Calls,
	command: string,
	args: unknown,
	options: ExecuteOptions | undefined,
	session: Session | undefined,
): CallStream<Chunk, Result> {
	const work = new StreamWork();
	const context = new AsyncResource("snakepit.call", ENDED_BY_OWNER);
	let state: StreamState = { kind: "fresh" };
	const begin = (): Call => {
		try {
			return context.runInAsyncScope(() =>
				calls.submit(command, args, options, work, session, context),
			);
		} catch (error) {
			// One that is refused is over, too: its error is thrown once.
			state = { kind: "closed" };
			context.emitDestroy();
			work.fail(error as Error);
			throw error;
		}
	};
	const isBeginning = (): boolean => state.kind === "beginning";
	return {
		get result(): Promise<Result> {
			return work.result as Promise<Result>;
		},
		async next(): Promise<IteratorResult<Chunk, Result | undefined>> {
			if (state.kind === "closed") return { done: true, value: undefined };
			if (state.kind === "fresh") {
				state = { kind: "beginning" };
				const call = begin();
				// A listener of its acceptance may have left it.
				if (isBeginning()) state = { kind: "running", call };
				else calls.abandon(call);
			}
			return (await work.next()) as IteratorResult<Chunk, Result | undefined>;
		},
		async return(): Promise<IteratorResult<Chunk, undefined>> {
			const left = state;
			state = { kind: "closed" };
			if (left.kind === "running") calls.abandon(left.call);
			if (left.kind === "fresh") {
				context.emitDestroy();
				work.fail(streamUnread(command));
			}
			return { done: true, value: undefined };
		},
		[Symbol.asyncIterator](): CallStream<Chunk, Result> {
			return this;
		},
	};
}

type Step = IteratorResult<unknown, unknown>;
type Demand = {
	readonly resolve: (step: Step | PromiseLike<Step>) => void;
};
type StreamEnd =
	| { readonly kind: "done"; readonly result: unknown }
	| { readonly kind: "failed"; readonly error: Error };

const OVER: Step = { done: true, value: undefined };

/**
 * A call that answers with a stream. Takes an item from the worker only when the
 * consumer asks for one; several may be asked for at once.
 */
class StreamWork implements LongWork {
	readonly shape = "stream";
	readonly #demands: Demand[] = [];
	#end: StreamEnd | undefined;
	/** The consumer's iteration has returned the end. */
	#endRequested = false;
	#begun = false;
	#result: PromiseWithResolvers<unknown> | undefined;
	/** Wakes the pump. */
	#wake: (() => void) | undefined;

	get begun(): boolean {
		return this.#begun;
	}

	/** What the command returns, or the error of the call. Made when it is first asked for. */
	get result(): Promise<unknown> {
		if (this.#result === undefined) {
			this.#result = Promise.withResolvers();
			// Most consumers read the error from the iteration: its rejection here must not end the program.
			this.#result.promise.catch(() => {});
			this.#settleResult();
		}
		return this.#result.promise;
	}

	/** The consumer asks for the next item. */
	next(): Promise<Step> {
		if (this.#end !== undefined) return this.#takeEnd(this.#end);
		return new Promise((resolve) => {
			this.#demands.push({ resolve });
			this.#wake?.();
		});
	}

	async run(
		connection: Connection,
		command: string,
		args: unknown,
		options: CallOptions,
		attempt: Attempted,
	): Promise<unknown> {
		if (connection.stream === undefined) {
			throw new InputError({
				code: "NOT_OFFERED",
				ran: "no",
				message: `The adapter offers no streams: call "${command}" with execute().`,
			});
		}
		// One listener for the whole stream: one for each item would pile up.
		options.signal.addEventListener("abort", () => this.#wake?.());
		const iterator = connection
			.stream(command, args, options)
			[Symbol.asyncIterator]();
		try {
			for (;;) {
				if (!(await this.#asked(options.signal))) return undefined;
				const item = await iterator.next();
				if (attempt.isOver) return undefined;
				if (item.done === true) return item.value;
				this.#begun = true;
				this.#demands.shift()?.resolve({ done: false, value: item.value });
			}
		} finally {
			await iterator.return?.();
		}
	}

	succeed(returned: unknown): void {
		this.#finish({ kind: "done", result: returned });
	}

	fail(error: Error): void {
		this.#finish({ kind: "failed", error });
	}

	/** Waits until the consumer asks; false when the call was aborted instead. */
	async #asked(signal: AbortSignal): Promise<boolean> {
		while (this.#demands.length === 0 && !signal.aborted) {
			await new Promise<void>((resolve) => {
				this.#wake = resolve;
			});
			this.#wake = undefined;
		}
		return !signal.aborted;
	}

	#finish(end: StreamEnd): void {
		if (this.#end !== undefined) return;
		this.#end = end;
		this.#settleResult();
		for (const demand of this.#demands.splice(0))
			demand.resolve(this.#takeEnd(end));
	}

	/** The first step after the items has the result or the error; afterwards the stream is over, as iterators are. */
	#takeEnd(end: StreamEnd): Promise<Step> {
		const first = !this.#endRequested;
		this.#endRequested = true;
		if (!first) return Promise.resolve(OVER);
		return end.kind === "done"
			? Promise.resolve({ done: true, value: end.result })
			: failing(end.error);
	}

	#settleResult(): void {
		const end = this.#end;
		if (end === undefined || this.#result === undefined) return;
		if (end.kind === "done") this.#result.resolve(end.result);
		else this.#result.resolve(failing(end.error));
	}
}
