import { OptionsError } from "../../errors.ts";
import {
	aFunction,
	type Check,
	checkOptions,
	oneOf,
	optional,
	show,
	wholeNumber,
} from "../../option-check.ts";
import { EXECUTE_CHECKS, type ExecuteOptions } from "../calls/call-options.ts";

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
	/** How many items may be in the pool at once. */
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
		ran: "no",
		message: `pool.map: the items must be an iterable or an async iterable, got ${show(items)}.`,
	});
}

/** How many there are, where that is known before they are read. */
export function totalOf(items: object): number | undefined {
	if (Array.isArray(items)) return items.length;
	if (items instanceof Set || items instanceof Map) return items.size;
	return undefined;
}
