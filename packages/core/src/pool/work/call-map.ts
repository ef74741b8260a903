import { AsyncResource } from "node:async_hooks";
import { OptionsError } from "../../contract/errors.ts";
import {
	aFunction,
	type Check,
	checkOptions,
	oneOf,
	optional,
	show,
	wholeNumber,
} from "../../options/check.ts";
import {
	type CallerContext,
	ENDED_BY_OWNER,
	type Work,
} from "../calls/call.ts";
import { mapAborted, ofItem } from "../calls/call-errors.ts";
import { EXECUTE_CHECKS, type ExecuteOptions } from "../calls/call-options.ts";
import type { Calls } from "../calls/calls.ts";

/** The progress of a `pool.map`. */
export interface MapProgress {
	/** Items whose call has ended. */
	readonly done: number;
	/** Items that a worker has, or that wait for one. */
	readonly running: number;
	/** The number of items; `undefined` if it is known only at the end of the input. */
	readonly total: number | undefined;
}

/**
 * Settings of many calls of one command. Takes those of `ExecuteOptions` for each call, except `input` and
 * `onProgress`.
 */
export interface MapOptions
	extends Omit<ExecuteOptions, "input" | "onProgress"> {
	/**
	 * How many items may be in the pool at once. By default, as many as the pool can run at once: `size.max` times
	 * `callsPerWorker`.
	 */
	readonly concurrency?: number | undefined;
	/** `"input"`: results in the order of their items. `"completion"`: results as they finish. @default "input" */
	readonly order?: "input" | "completion" | undefined;
	/** Called after each item. If it throws, the map ends with that error. */
	readonly onProgress?: ((progress: MapProgress) => void) | undefined;
}

export const MAP_DEFAULTS = { order: "input" } as const;

const { input: _, ...CALL_CHECKS } = EXECUTE_CHECKS;
export const MAP_CHECKS: Readonly<Record<keyof MapOptions, Check>> = {
	...CALL_CHECKS,
	concurrency: optional(wholeNumber(1, 1_000_000)),
	order: optional(oneOf("input", "completion")),
	onProgress: optional(aFunction),
};

export type Items<Item> = Iterable<Item> | AsyncIterable<Item>;

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function checkMap(items: unknown, options: MapOptions): void {
	checkOptions("pool.map", options, MAP_CHECKS);
	const isIterable =
		typeof items === "object" &&
		items !== null &&
		(Symbol.asyncIterator in items || Symbol.iterator in items);
	if (isIterable) return;
	throw new OptionsError({
		code: "INVALID_OPTION",
		message: `pool.map: the items must be an iterable or an async iterable, got ${show(items)}.`,
	});
}

/** How many there are, where that is known before they are read. */
function totalOf(items: object): number | undefined {
	if (Array.isArray(items)) return items.length;
	if (items instanceof Set || items instanceof Map) return items.size;
	return undefined;
}

/** One item that a call was made for. */
interface Entry {
	state:
		| { readonly kind: "running" }
		| { readonly kind: "done"; readonly value: unknown };
}

type MapState =
	/** No result was asked for yet. */
	| { readonly kind: "fresh" }
	| { readonly kind: "running" }
	| { readonly kind: "failed"; readonly error: unknown }
	| { readonly kind: "over" };

/**
 * Calls one command for many items, with limited concurrency; returns the results as an iterator.
 *
 * Where no concurrency is chosen, a worker of a quick tool has its next calls with it.
 *
 * Begins when the first result is asked for. At most twice as many items are taken
 * from the input and not handed over as results as are called at once: a slow
 * consumer slows the input, and a slow item in front does not stop the others.
 */
export class CallMap implements AsyncIterableIterator<unknown, undefined> {
	readonly #calls: Calls;
	readonly #pool: string;
	readonly #command: string;
	readonly #options: MapOptions;
	readonly #concurrency: () => number;
	readonly #input: MapInput;
	readonly #total: number | undefined;
	/** Of all its calls. */
	readonly #context = new AsyncResource("snakepit.map", ENDED_BY_OWNER);
	/** What its calls have: it does not end with one of them. */
	readonly #shared: CallerContext = {
		runInAsyncScope: (run, self, ...args) =>
			this.#context.runInAsyncScope(run, self, ...args),
		emitDestroy: () => {},
	};
	readonly #abort = new AbortController();
	readonly #changes = new Changes();
	/** In the order of their items: those whose result is not ready to be handed over. */
	#entries: Entry[] = [];
	/** Results to be handed over. */
	#ready: unknown[] = [];
	#state: MapState = { kind: "fresh" };
	#source: "open" | "at its end" = "open";
	#taken = 0;
	#done = 0;
	#running = 0;

	constructor(
		calls: Calls,
		pool: string,
		command: string,
		items: Items<unknown>,
		options: MapOptions,
		concurrency: () => number,
	) {
		this.#calls = calls;
		this.#pool = pool;
		this.#command = command;
		this.#options = options;
		this.#concurrency = concurrency;
		this.#input = new MapInput(items);
		this.#total = totalOf(items);
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	async next(): Promise<IteratorResult<unknown, undefined>> {
		if (this.#state.kind === "fresh") this.#begin();
		for (;;) {
			if (this.#ready.length > 0) {
				const value = this.#ready.shift();
				this.#changes.note();
				return { done: false, value };
			}
			if (this.#state.kind === "failed") {
				const { error } = this.#state;
				// Thrown once; afterwards the map is over, as iterators are.
				await this.#end();
				throw error;
			}
			if (this.#state.kind === "running" && this.#isComplete())
				await this.#end();
			if (this.#state.kind === "over") return { done: true, value: undefined };
			await this.#changes.next();
		}
	}

	/** Cancels what runs, and closes the input. */
	async return(): Promise<IteratorResult<unknown, undefined>> {
		this.#ready = [];
		await this.#end();
		return { done: true, value: undefined };
	}

	#begin(): void {
		this.#state = { kind: "running" };
		const { signal } = this.#options;
		if (signal?.aborted === true) this.#onAbort();
		else signal?.addEventListener("abort", this.#onAbort);
		void this.#fill().catch((error: unknown) => this.#fail(error));
	}

	readonly #onAbort = (): void => {
		const { reason } = this.#options.signal ?? {};
		const ran = this.#done + this.#running > 0 ? "maybe" : "no";
		this.#fail(mapAborted(this.#pool, this.#command, this.#done, ran, reason));
	};

	/** Makes calls as long as there are items, and room for them here and in the pool. */
	async #fill(): Promise<void> {
		while (this.#isRunning()) {
			if (!this.#hasRoom()) {
				await this.#changes.next();
				continue;
			}
			const item = await this.#input.next();
			if (item.done === true) {
				this.#source = "at its end";
				this.#changes.note();
				return;
			}
			const index = this.#taken++;
			while (this.#isRunning() && !this.#calls.acceptsOneMore)
				await this.#calls.placement.roomChanged();
			if (this.#isRunning()) this.#call(index, item.value);
		}
	}

	#call(index: number, args: unknown): void {
		const { concurrency, order, onProgress, ...each } = this.#options;
		const options = { ...each, signal: this.#abort.signal };
		const context = this.#context;
		const { promise, resolve } = Promise.withResolvers<unknown>();
		const work: Work = { shape: "unary", begun: false, succeed: resolve };
		const entry: Entry = { state: { kind: "running" } };
		const failed = (error: unknown): void => this.#fail(ofItem(error, index));
		this.#running++;
		this.#entries.push(entry);
		try {
			context.runInAsyncScope(() =>
				this.#calls.submit(
					this.#command,
					args,
					options,
					work,
					undefined,
					this.#shared,
				),
			);
		} catch (error) {
			failed(error);
			return;
		}
		promise.then((value) => this.#answered(entry, value), failed);
	}

	#answered(entry: Entry, value: unknown): void {
		if (!this.#isRunning()) return;
		this.#running--;
		this.#done++;
		entry.state = { kind: "done", value };
		const { order = MAP_DEFAULTS.order } = this.#options;
		if (order === "completion") {
			this.#entries.splice(this.#entries.indexOf(entry), 1);
			this.#ready.push(value);
		} else this.#handOverInOrder();
		try {
			this.#options.onProgress?.({
				done: this.#done,
				running: this.#running,
				total: this.#total,
			});
		} catch (error) {
			this.#fail(error);
		}
		this.#changes.note();
	}

	#handOverInOrder(): void {
		for (;;) {
			const state = this.#entries[0]?.state;
			if (state?.kind !== "done") return;
			this.#entries.shift();
			this.#ready.push(state.value);
		}
	}

	/** The first error ends all of it. */
	#fail(error: unknown): void {
		if (!this.#isRunning()) return;
		this.#state = { kind: "failed", error };
		this.#abort.abort(error);
		this.#changes.note();
	}

	async #end(): Promise<void> {
		if (this.#state.kind === "over") return;
		const failed = this.#state.kind === "failed";
		this.#state = { kind: "over" };
		this.#context.emitDestroy();
		this.#options.signal?.removeEventListener("abort", this.#onAbort);
		this.#abort.abort();
		this.#changes.note();
		// The error of closing the input is reported, but not instead of what went wrong before.
		await this.#input.close().catch((error: unknown) => {
			if (!failed) throw error;
		});
	}

	#isRunning(): boolean {
		return this.#state.kind === "running";
	}

	#hasRoom(): boolean {
		const held = this.#entries.length + this.#ready.length;
		const concurrency = this.#concurrency();
		return this.#running < concurrency && held < 2 * concurrency;
	}

	#isComplete(): boolean {
		return this.#source === "at its end" && this.#entries.length === 0;
	}
}

/** The items of a map, taken one at a time. */
class MapInput {
	readonly #items: Items<unknown>;
	#iterator: Iterator<unknown> | AsyncIterator<unknown> | undefined;
	#state: "open" | "asked" | "over" = "open";

	constructor(items: Items<unknown>) {
		this.#items = items;
	}

	/** The next item. Not called again before it has settled. */
	async next(): Promise<IteratorResult<unknown>> {
		this.#iterator ??= iteratorOf(this.#items);
		this.#state = "asked";
		try {
			const result = await this.#iterator.next();
			if (this.#state === "asked")
				this.#state = result.done === true ? "over" : "open";
			return result;
		} catch (error) {
			this.#state = "over"; // What throws has closed itself.
			throw error;
		}
	}

	/** Reads no more. An item that was asked for and may never come is not waited for. */
	async close(): Promise<void> {
		const state = this.#state;
		this.#state = "over";
		if (state === "over") return;
		const closed = (async () => await this.#iterator?.return?.())();
		if (state === "open") await closed;
		else closed.catch(() => {}); // Nothing waits for it any more.
	}
}

function iteratorOf(
	items: Items<unknown>,
): Iterator<unknown> | AsyncIterator<unknown> {
	return Symbol.asyncIterator in items
		? items[Symbol.asyncIterator]()
		: items[Symbol.iterator]();
}

/** Lets code wait until something may have changed; it then looks for itself. */
class Changes {
	#next = Promise.withResolvers<void>();
	#state: "unwatched" | "watched" = "unwatched";

	/** Resolves at the next change. */
	next(): Promise<void> {
		this.#state = "watched";
		return this.#next.promise;
	}

	/** Something may have changed. Costs nothing when nothing waits. */
	note(): void {
		if (this.#state === "unwatched") return;
		this.#state = "unwatched";
		this.#next.resolve();
		this.#next = Promise.withResolvers<void>();
	}
}
