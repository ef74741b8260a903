import { setImmediate } from "node:timers";
import type { Clock, Timer } from "../contract/clock.ts";
import { outbox } from "../outbox.ts";

/**
 * How many turns of the event loop follow each step of virtual time. One turn
 * runs every promise chain and every `nextTick` to its end; the others are for
 * code that itself waits for `setImmediate`.
 */
const SETTLE_TURNS = 4;

interface Entry extends Timer {
	readonly dueMs: number;
	readonly order: number;
	readonly action: () => void;
}

export interface VirtualClockOptions {
	/** What {@link VirtualClock.now} returns at first, in milliseconds. Default 0. */
	readonly nowMs?: number | undefined;
	/** What {@link VirtualClock.wall} returns at first, in milliseconds since the Unix epoch. Default: 2026 begins. */
	readonly wallMs?: number | undefined;
}

/**
 * A clock that moves only when a test moves it. Timers fire in the order of their due
 * time, those of one moment in the order in which they were set, and whatever
 * a timer sets off has run before the next one fires.
 */
export class VirtualClock implements Clock {
	#nowMs: number;
	#wallOffsetMs: number;
	#order = 0;
	#steps: Promise<unknown> = Promise.resolve();
	readonly #entries = new Set<Entry>();
	#soon = 0;

	constructor(options: VirtualClockOptions = {}) {
		this.#nowMs = options.nowMs ?? 0;
		this.#wallOffsetMs = (options.wallMs ?? 1_767_225_600_000) - this.#nowMs;
	}

	now(): number {
		return this.#nowMs;
	}

	wall(): number {
		return Math.floor(this.#nowMs + this.#wallOffsetMs);
	}

	after(ms: number, action: () => void): Timer {
		if (!(ms >= 0)) throw new RangeError(`A timer cannot be due in ${ms} ms.`);
		const entry: Entry = {
			dueMs: this.#nowMs + ms,
			order: this.#order++,
			action,
			cancel: () => void this.#entries.delete(entry),
		};
		this.#entries.add(entry);
		return entry;
	}

	/** Also while the clock does not move: a turn of the event loop is no time. */
	soon(action: () => void): void {
		this.#soon++;
		setImmediate(() => {
			this.#soon--;
			outbox.during(action);
		});
	}

	/** How many timers are set. */
	pending(): number {
		return this.#entries.size;
	}

	/** Lets everything run that does not wait for time. */
	settle(): Promise<void> {
		return this.advance(0);
	}

	/**
	 * Moves both clocks forward by `ms` and fires what becomes due, also what is
	 * set on the way. Calls queue up: one advance follows the other.
	 */
	advance(ms: number): Promise<void> {
		if (!(ms >= 0))
			throw new RangeError(
				`The clock cannot advance by ${ms} ms; see jumpWall.`,
			);
		return this.#enqueue(async () => {
			const targetMs = this.#nowMs + ms;
			await this.#turns();
			for (let due = this.#next(targetMs); due; due = this.#next(targetMs))
				await this.#fire(due);
			this.#nowMs = targetMs;
			await this.#turns();
		});
	}

	/**
	 * Moves from timer to timer until `promise` settles, and passes its outcome on.
	 *
	 * @throws Error when it has not settled after `limitMs` of virtual time, or no timer is left.
	 */
	advanceUntil<Value>(
		promise: Promise<Value>,
		limitMs = 3_600_000,
	): Promise<Value> {
		let settled = false;
		const settle = () => {
			settled = true;
		};
		promise.then(settle, settle);
		return this.#enqueue(async () => {
			const limit = this.#nowMs + limitMs;
			await this.#turns();
			while (!settled) {
				const due = this.#next(limit);
				if (!due) {
					throw new Error(
						`The promise did not settle within ${limitMs} ms of virtual time; ${this.#entries.size} later timers are set.`,
					);
				}
				await this.#fire(due);
			}
			return promise;
		});
	}

	/**
	 * Moves both clocks forward and fires nothing, as a blocked event loop
	 * does: what became due meanwhile comes late.
	 */
	stall(ms: number): void {
		if (!(ms >= 0))
			throw new RangeError(`The clock cannot stall for ${ms} ms.`);
		this.#nowMs += ms;
	}

	/** Moves the wall clock alone, as a person or a time server does. May be negative. */
	jumpWall(ms: number): void {
		this.#wallOffsetMs += ms;
	}

	#enqueue<Value>(step: () => Promise<Value>): Promise<Value> {
		const result = this.#steps.then(step);
		this.#steps = result.catch(() => undefined);
		return result;
	}

	#next(limitMs: number): Entry | undefined {
		let first: Entry | undefined;
		for (const entry of this.#entries) {
			if (entry.dueMs > limitMs) continue;
			if (
				!first ||
				entry.dueMs < first.dueMs ||
				(entry.dueMs === first.dueMs && entry.order < first.order)
			)
				first = entry;
		}
		return first;
	}

	async #fire(entry: Entry): Promise<void> {
		this.#entries.delete(entry);
		this.#nowMs = Math.max(this.#nowMs, entry.dueMs);
		outbox.during(entry.action);
		await this.#turns();
	}

	/** As many as it takes, and some more. */
	async #turns(): Promise<void> {
		for (let left = SETTLE_TURNS; left > 0; left--) {
			if (this.#soon > 0) left = SETTLE_TURNS;
			await new Promise<void>((resolve) => setImmediate(resolve));
		}
	}
}
