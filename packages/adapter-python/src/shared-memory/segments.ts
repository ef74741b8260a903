import { clearTimeout, setTimeout } from "node:timers";
import type { Segment, SegmentStore } from "./segment.ts";

/** Runs an action later; returns a function that cancels it. */
export type After = (ms: number, action: () => void) => () => void;

/** A timer that does not keep the program running. */
export const afterUnreferenced: After = (ms, action) => {
	const timer = setTimeout(action, ms).unref();
	return () => clearTimeout(timer);
};

/** How much is kept for later values of one worker. */
export interface KeptSegments {
	readonly count: number;
	/** The sum of their sizes. */
	readonly bytes: number;
	/** Memory that was not used for one to two of these intervals is freed. */
	readonly ms: number;
}

/**
 * The free segments of one worker. The host assigns them to calls, for
 * both directions; the worker only reports when one is free.
 */
export class Segments {
	readonly #store: SegmentStore;
	readonly #kept: KeptSegments;
	readonly #after: After;
	/** In the order in which they were used. */
	readonly #free: Segment[] = [];
	/** Discarded segments that were not yet reported to the worker. */
	gone: readonly string[] = [];
	#lastFile = 0;
	#cancelTrim: (() => void) | undefined;
	#isClosed = false;

	constructor(store: SegmentStore, kept: KeptSegments, after: After) {
		this.#store = store;
		this.#kept = kept;
		this.#after = after;
	}

	/** Takes a segment for a value of this many bytes, or creates one. @throws Error if that fails. */
	take(bytes: number): Segment {
		return this.spare(bytes) ?? this.#store.make(`h${++this.#lastFile}`);
	}

	/** Takes a segment for a value of this many bytes, if there is one. */
	spare(bytes: number): Segment | undefined {
		const segment = bestFit(this.#free, bytes);
		if (segment !== undefined)
			this.#free.splice(this.#free.indexOf(segment), 1);
		return segment;
	}

	/** Keeps a segment that no call uses any more. */
	giveBack(segment: Segment): void {
		if (this.#isClosed) {
			segment.close();
			return;
		}
		segment.measure();
		this.#free.push(segment);
		while (this.#isTooMuch()) this.discard(this.#free.shift());
		if (this.#free.length > 0) this.#cancelTrim ??= this.#trimLater();
	}

	/** Frees the memory of one and closes it. */
	discard(segment: Segment | undefined): void {
		if (segment === undefined) return;
		// The worker keeps it open until the next call reports it.
		segment.shrink(0);
		segment.close();
		this.gone = [...this.gone, segment.name];
	}

	/** Closes all: the conversation is over. */
	close(): void {
		this.#isClosed = true;
		this.#cancelTrim?.();
		for (const segment of this.#free.splice(0)) segment.close();
	}

	#isTooMuch(): boolean {
		const { count, bytes } = this.#kept;
		const sum = this.#free.reduce((sum, segment) => sum + segment.bytes, 0);
		return this.#free.length > count || sum > bytes;
	}

	#trimLater(): () => void {
		return this.#after(this.#kept.ms, () => {
			this.#cancelTrim = undefined;
			for (const segment of this.#free.splice(0)) {
				const { largest } = segment;
				segment.largest = 0;
				if (largest === 0) this.discard(segment);
				else {
					if (segment.bytes > largest) segment.shrink(largest);
					this.#free.push(segment);
				}
			}
			if (this.#free.length > 0) this.#cancelTrim = this.#trimLater();
		});
	}
}

/** Returns the smallest one that has room, otherwise the largest; of two of the same size, the one that was used last. */
export function bestFit<Sized extends { readonly bytes: number }>(
	free: readonly Sized[],
	bytes: number,
): Sized | undefined {
	return free.reduce<Sized | undefined>((best, segment) => {
		if (best === undefined) return segment;
		const isBetter =
			best.bytes < bytes
				? segment.bytes >= best.bytes
				: segment.bytes >= bytes && segment.bytes <= best.bytes;
		return isBetter ? segment : best;
	}, undefined);
}
