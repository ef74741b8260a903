import type { RecentCallsSnapshot } from "@snakepit/control/server";
import type { SnakepitError } from "../../contract/errors.ts";
import type { CallOutcome } from "../../contract/events.ts";

/** So far back calls are counted, */
const WINDOW_MS = 60_000;
/** in slots of this length. */
const SLOT_MS = 5_000;
/** Of a message, so much is kept. */
const MESSAGE_CHARACTERS = 500;

type Outcomes = Readonly<Record<CallOutcome, number>>;

/** What is counted of the calls that ended: since the pool was created, or in one slot. */
interface Ended {
	readonly ended: number;
	readonly failed: number;
}

interface Slot extends Ended {
	readonly sinceMs: number;
}

/**
 * How many calls of a pool ended in the last minute, and how many of them failed or timed out. A call that succeeds costs
 * one comparison: the totals of the pool are read when a slot begins. Calls that their caller aborted, and those that a
 * full queue refused, are not counted.
 */
export class RecentCalls {
	readonly #outcomes: Outcomes;
	/** Those that are over, oldest first. */
	#slots: readonly Slot[] = [];
	#slotMs = Number.NEGATIVE_INFINITY;
	/** When the current slot began. */
	#before: Ended = { ended: 0, failed: 0 };
	#refused = 0;
	#last: RecentCallsSnapshot["last"] = null;

	/** @param outcomes the totals of the pool. */
	constructor(outcomes: Outcomes) {
		this.#outcomes = outcomes;
	}

	/** A call ends, and is not in the totals yet. @param nowMs on the monotonic clock, as everywhere here. */
	ends(nowMs: number): void {
		if (nowMs - this.#slotMs >= SLOT_MS) this.#begin(nowMs);
	}

	/** It did not succeed. */
	failed(
		command: string,
		{ code, message }: Pick<SnakepitError, "code" | "message">,
		outcome: CallOutcome,
	): void {
		if (outcome === "aborted") return;
		if (code === "QUEUE_FULL") this.#refused++;
		else
			this.#last = {
				...{ command, code },
				message: message.slice(0, MESSAGE_CHARACTERS),
			};
	}

	view(nowMs: number): RecentCallsSnapshot {
		const slots = [...this.#slots, this.#current()].filter(
			({ sinceMs }) => nowMs - sinceMs < WINDOW_MS,
		);
		const failed = slots.reduce((sum, slot) => sum + slot.failed, 0);
		return {
			windowMs: WINDOW_MS,
			ended: slots.reduce((sum, slot) => sum + slot.ended, 0),
			failed,
			last: failed === 0 ? null : this.#last,
		};
	}

	#begin(nowMs: number): void {
		this.#slots = [...this.#slots, this.#current()].filter(
			({ sinceMs }) => nowMs - sinceMs < WINDOW_MS,
		);
		this.#slotMs = nowMs;
		this.#before = this.#totals();
	}

	#current(): Slot {
		const { ended, failed } = this.#totals();
		return {
			sinceMs: this.#slotMs,
			ended: ended - this.#before.ended,
			failed: failed - this.#before.failed,
		};
	}

	#totals(): Ended {
		const { succeeded, failed, timed_out } = this.#outcomes;
		const counted = failed + timed_out - this.#refused;
		return { ended: succeeded + counted, failed: counted };
	}
}
