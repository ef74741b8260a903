import { AsyncResource } from "node:async_hooks";
import type { CallOptions, Connection } from "../adapter.ts";
import { InputError } from "../errors.ts";
import { failing } from "./callers-frames.ts";

/** The asynchronous context of a caller. */
export type CallerContext = Pick<AsyncResource, "runInAsyncScope">;

/** Takes the context that holds now. Not `AsyncLocalStorage.snapshot()`: it binds a function anew, which costs as much as the rest of a call. */
export function captureContext(): CallerContext {
	return new AsyncResource("snakepit.call");
}

/**
 * What a call does on a connection, and where its answer goes. Settling twice is
 * harmless: the first one counts.
 */
export interface Work {
	readonly shape: "unary" | "stream";
	/**
	 * Resolves when the worker is done with it; the answer is delivered by `succeed`.
	 *
	 * @param isWanted whether what comes is still that of the call: a worker that is lost may be heard after its call was given to another.
	 */
	run(
		connection: Connection,
		command: string,
		args: unknown,
		options: CallOptions,
		isWanted: () => boolean,
	): Promise<void>;
	/** Whether something was delivered already: then it cannot be made again. */
	readonly begun: boolean;
	succeed(): void;
	fail(error: Error): void;
}

/** A call with one answer. */
export class UnaryWork implements Work {
	readonly promise: Promise<unknown>;
	readonly shape = "unary";
	readonly begun = false;
	/** Until it is settled. */
	#resolve: ((value: unknown) => void) | undefined;
	#answer: unknown;

	constructor() {
		const { promise, resolve } = Promise.withResolvers<unknown>();
		this.promise = promise;
		this.#resolve = resolve;
	}

	async run(
		connection: Connection,
		command: string,
		args: unknown,
		options: CallOptions,
	): Promise<void> {
		this.#answer = await connection.execute(command, args, options);
	}

	succeed(): void {
		this.#resolve?.(this.#answer);
		this.#resolve = undefined;
	}

	fail(error: Error): void {
		// Only where somebody is told: what rejects unheard would end the program.
		this.#resolve?.(failing(error));
		this.#resolve = undefined;
	}
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
export class StreamWork implements Work {
	readonly shape = "stream";
	readonly #demands: Demand[] = [];
	#end: StreamEnd | undefined;
	/** The consumer's iteration was given the end. */
	#endTaken = false;
	#begun = false;
	/** What the command returned, of the attempt that came to its end. */
	#returned: unknown;
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
		isWanted: () => boolean,
	): Promise<void> {
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
				if (!(await this.#asked(options.signal))) return;
				const item = await iterator.next();
				if (!isWanted()) return;
				if (item.done === true) {
					this.#returned = item.value;
					return;
				}
				this.#begun = true;
				this.#demands.shift()?.resolve({ done: false, value: item.value });
			}
		} finally {
			await iterator.return?.();
		}
	}

	succeed(): void {
		this.#finish({ kind: "done", result: this.#returned });
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

	/** The first who asks is given the result or the error; afterwards the stream is over, as iterators are. */
	#takeEnd(end: StreamEnd): Promise<Step> {
		const first = !this.#endTaken;
		this.#endTaken = true;
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
