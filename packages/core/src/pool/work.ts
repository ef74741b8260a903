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

type Demand = {
	readonly resolve: (
		result:
			| IteratorResult<unknown, undefined>
			| PromiseLike<IteratorResult<unknown, undefined>>,
	) => void;
};
type StreamEnd =
	| { readonly kind: "done" }
	| { readonly kind: "failed"; readonly error: Error };

/**
 * A call that answers with a stream. Takes an item from the worker only when the
 * consumer asks for one; several may be asked for at once.
 */
export class StreamWork implements Work {
	readonly shape = "stream";
	readonly #demands: Demand[] = [];
	#end: StreamEnd | undefined;
	#begun = false;
	/** Wakes the pump. */
	#wake: (() => void) | undefined;

	get begun(): boolean {
		return this.#begun;
	}

	/** The consumer asks for the next item. */
	next(): Promise<IteratorResult<unknown, undefined>> {
		if (this.#end !== undefined) {
			// The error is told once; afterwards the stream is over, as iterators are.
			const end = this.#end;
			this.#end = { kind: "done" };
			return end.kind === "done"
				? Promise.resolve({ done: true, value: undefined })
				: failing(end.error);
		}
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
				if (item.done === true || !isWanted()) return;
				this.#begun = true;
				this.#demands.shift()?.resolve({ done: false, value: item.value });
			}
		} finally {
			await iterator.return?.();
		}
	}

	succeed(): void {
		this.#finish({ kind: "done" });
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
		const [first, ...rest] = this.#demands.splice(0);
		if (end.kind === "failed" && first !== undefined) {
			first.resolve(failing(end.error));
			this.#end = { kind: "done" };
		} else {
			first?.resolve({ done: true, value: undefined });
			this.#end = end;
		}
		for (const demand of rest) demand.resolve({ done: true, value: undefined });
	}
}
