import { isDate } from "node:util/types";
import type { Prefetch } from "@snakepit/core/adapter";
import { LENT_BYTES } from "../channel/frame-channel.ts";
import type { CallPage } from "../shared-memory/call-page.ts";
import { NdArray } from "../values/nd-array.ts";
import type { OngoingCalls } from "./conversation.ts";
import type { OngoingCall } from "./ongoing-call.ts";

/** The calls that wait in a worker while it runs another one. */
export class PrefetchedCalls implements Prefetch {
	readonly #page: CallPage;
	/** The calls of the conversation, in the order in which they were sent. */
	readonly #calls: Readonly<OngoingCalls>;
	/** Whether results of a command come in shared memory, which a call that does not begin would hold. */
	readonly #sharesResults: (command: string) => boolean;
	/** Receives a frame that the worker has not sent yet. */
	readonly #take: (frame: Uint8Array) => void;
	/** The calls that had not begun when the conversation ended. */
	#neverBegun: ReadonlySet<string> = new Set();

	constructor(
		page: CallPage,
		calls: Readonly<OngoingCalls>,
		sharesResults: (command: string) => boolean,
		take: (frame: Uint8Array) => void,
	) {
		this.#page = page;
		this.#calls = calls;
		this.#sharesResults = sharesResults;
		this.#take = take;
	}

	admits(command: string, args: unknown): boolean {
		return !this.#sharesResults(command) && isSmall(args);
	}

	recall(callId: string): ReadonlySet<string> {
		const calls = Object.values(this.#calls);
		if (calls.length === 0) return this.#neverBegun;
		// Its answer may have come already, in one chunk with what led to this. So have those of all that were sent before it.
		const at = calls.findIndex(({ options }) => options.callId === callId);
		const taken = this.#stop(calls[at - 1], calls.slice(Math.max(at, 0)));
		for (const call of taken) call.recalled();
		this.#takeKept();
		return idsOf(taken);
	}

	/** The conversation is over: no further call begins. Returns the calls that have not begun. */
	end(): ReadonlySet<OngoingCall> {
		const taken = this.#stop(undefined, Object.values(this.#calls));
		this.#neverBegun = idsOf(taken);
		this.#takeKept();
		this.#page.close();
		return new Set(taken);
	}

	/** The worker keeps answers back to send them with the next ones. If those take long, or the worker is dead, they are read here. */
	#takeKept(): void {
		for (const frame of this.#page.kept()) this.#take(frame);
	}

	#stop(
		kept: OngoingCall | undefined,
		calls: readonly OngoingCall[],
	): readonly OngoingCall[] {
		const last = calls.at(-1);
		if (last === undefined) return [];
		const begun = this.#page.recall(kept?.number, last.number);
		return begun === undefined
			? []
			: calls.filter(({ number }) => number > begun);
	}
}

function idsOf(calls: readonly OngoingCall[]): ReadonlySet<string> {
	return new Set(calls.map(({ options }) => options.callId));
}

/** About the bytes of a small frame. A call that is recalled is encoded again. */
const MOST = LENT_BYTES;
/** The size of a value besides its text or bytes. */
const EACH = 8;
/** What one takes that has no parts and is not plain, such as a date. */
const INSTANT = 24;

/** Whether arguments are small. Examines a bounded number of values, whatever their size. */
export function isSmall(args: unknown): boolean {
	return left(args, MOST) >= 0;
}

/** The rest of the allowance after a value; negative if the value is too large. */
function left(value: unknown, allowance: number): number {
	let rest = allowance - EACH;
	if (typeof value === "string") return rest - value.length;
	if (typeof value !== "object" || value === null) return rest;
	if (Array.isArray(value)) {
		if (value.length * EACH > rest) return -1;
		for (const item of value) {
			rest = left(item, rest);
			if (rest < 0) return rest;
		}
		return rest;
	}
	if (Object.getPrototypeOf(value) !== Object.prototype)
		return leftAfterClass(value, rest);
	for (const key in value) {
		rest = left((value as Record<string, unknown>)[key], rest - key.length);
		if (rest < 0) return rest;
	}
	return rest;
}

function leftAfterClass(value: object, rest: number): number {
	if (ArrayBuffer.isView(value)) return rest - value.byteLength;
	if (value instanceof NdArray) return rest - value.data.byteLength;
	if (isDate(value)) return rest - INSTANT;
	// Only the caller's encoder knows the size of other classes.
	return -1;
}
