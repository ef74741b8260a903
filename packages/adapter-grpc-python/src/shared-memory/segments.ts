import { Segment } from "./segment.ts";

/** Does something later; returns what takes that back. */
export type After = (ms: number, action: () => void) => () => void;

/** A timer that keeps no program alive. */
export const afterUnreferenced: After = (ms, action) => {
	const timer = setTimeout(action, ms).unref();
	return () => clearTimeout(timer);
};

/** What is kept for later values of one worker. */
export interface KeptSegments {
	readonly count: number;
	/** Of all of them together. */
	readonly bytes: number;
	/** What was not used for this long, and not for twice as long, is given back. */
	readonly ms: number;
}

/**
 * The segments of one worker that no call has. The host keeps them and says which
 * call has which, for both directions; the worker only says what is free.
 */
export class Segments {
	readonly #directory: string;
	readonly #kept: KeptSegments;
	readonly #after: After;
	/** The one that was used last is last. */
	readonly #free: Segment[] = [];
	#gone: string[] = [];
	#lastFile = 0;
	#cancelTrim: (() => void) | undefined;
	#isClosed = false;

	constructor(directory: string, kept: KeptSegments, after: After) {
		this.#directory = directory;
		this.#kept = kept;
		this.#after = after;
	}

	/** Those that were let go of, which the worker was not told of yet. */
	get gone(): readonly string[] {
		return this.#gone;
	}

	/** The worker was told. */
	toldGone(): void {
		if (this.#gone.length > 0) this.#gone = [];
	}

	/** One for a value of so many bytes. @throws Error when none can be made. */
	take(bytes: number): Segment {
		return (
			this.spare(bytes) ?? Segment.make(this.#directory, `h${++this.#lastFile}`)
		);
	}

	/** Likewise, if there is one already. */
	spare(bytes: number): Segment | undefined {
		const segment = bestFit(this.#free, bytes);
		if (segment !== undefined)
			this.#free.splice(this.#free.indexOf(segment), 1);
		return segment;
	}

	/** Takes one that no call has any more. */
	giveBack(segment: Segment): void {
		if (this.#isClosed) {
			segment.close();
			return;
		}
		segment.measure();
		this.#free.push(segment);
		while (this.#isTooMuch()) this.#letGo(this.#free.shift());
		if (this.#free.length > 0) this.#cancelTrim ??= this.#trimLater();
	}

	/** Lets go of one for good. */
	discard(segment: Segment): void {
		this.#letGo(segment);
	}

	/** Lets go of all: the conversation is over. */
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

	#letGo(segment: Segment | undefined): void {
		if (segment === undefined) return;
		// The worker has it open still, until it is told.
		segment.shrink(0);
		segment.close();
		this.#gone.push(segment.name);
	}

	#trimLater(): () => void {
		return this.#after(this.#kept.ms, () => {
			this.#cancelTrim = undefined;
			for (const segment of this.#free.splice(0)) {
				const { largest } = segment;
				segment.largest = 0;
				if (largest === 0) this.#letGo(segment);
				else {
					if (segment.bytes > largest) segment.shrink(largest);
					this.#free.push(segment);
				}
			}
			if (this.#free.length > 0) this.#cancelTrim = this.#trimLater();
		});
	}
}

/** The smallest that has room, or else the largest; of two of a size the one that was used later. */
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
