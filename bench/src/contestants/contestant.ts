import type { Kind, Setting } from "../case.ts";
import type { Needs } from "../needs.ts";

/** How the other side is wanted. */
export interface LineSetting extends Setting {
	readonly workers: number;
	/** How many calls are under way at most, over all workers. */
	readonly inFlight: number;
	/** Where a contestant has such a bound and another than its usual one is needed. */
	readonly callsPerWorker?: number;
}

/** How much of the other side a row wants. */
export type LineAmount = Pick<
	LineSetting,
	"workers" | "inFlight" | "callsPerWorker"
>;

/** A way to a Python program (or a JavaScript one) that answers with what it got. What is left out cannot be done with it. */
export interface Line extends AsyncDisposable {
	/** The processes at the other end; empty where it is this one. */
	readonly pids: readonly number[];
	/** Answers with the same text. */
	echo?(text: string): Promise<unknown>;
	/** Answers with the same bytes. */
	echoBytes?(bytes: Uint8Array): Promise<Uint8Array>;
	/** Answers with the number of bytes. */
	takeBytes?(bytes: Uint8Array): Promise<unknown>;
	/** Answers with so many bytes. */
	giveBytes?(size: number): Promise<Uint8Array>;
	/** Answers with the same array, which numpy saw. */
	echoArray?(array: Float64Array): Promise<Float64Array>;
	/** Yields so many items of so many bytes. */
	stream?(items: number, size: number): AsyncIterable<Uint8Array>;
	/** How many items the present stream has produced, asked beside it. */
	produced?(): Promise<number>;
}

/** Somebody who can open such a line. */
export interface Contestant {
	readonly name: string;
	readonly kind: Kind;
	readonly needs?: Needs;
	open(setting: LineSetting): Promise<Line>;
}

/** @throws TypeError when it echoes no text. */
export function textEcho({ echo }: Line): NonNullable<Line["echo"]> {
	if (echo === undefined) throw new TypeError("it echoes no text");
	return echo;
}
