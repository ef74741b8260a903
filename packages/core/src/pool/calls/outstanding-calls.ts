import type { Clock, Timer } from "../../contract/clock.ts";
import type { ProcessHost } from "../../contract/world.ts";
import { ArrivalList } from "../placement/arrival-list.ts";
import type { Call } from "./call.ts";

/** The calls that are not settled, and what waits for their end. While there is one, the program stays open. */
export class OutstandingCalls {
	/** How many attempts are not over, also of settled calls. */
	running = 0;
	readonly #calls = new ArrivalList<Call>();
	readonly #host: ProcessHost;
	readonly #clock: Clock;
	#releaseHost: (() => void) | undefined;
	#onEmpty: (() => void) | undefined;
	/** Ends the wait for their end; with the moment, while it is waited for. */
	#drain: { untilMs: number; timer: Timer } | undefined;

	constructor(host: ProcessHost, clock: Clock) {
		this.#host = host;
		this.#clock = clock;
	}

	get size(): number {
		return this.#calls.size;
	}

	all(): readonly Call[] {
		return [...this.#calls];
	}

	/** The first that were accepted, in this order. */
	first(limit: number): readonly Call[] {
		const first: Call[] = [];
		for (const call of this.#calls) {
			if (first.length === limit) break;
			first.push(call);
		}
		return first;
	}

	add(call: Call): void {
		this.#calls.add(call);
		this.#releaseHost ??= this.#host.keepAlive();
	}

	/** The call may be settled already: cancelled, or ended by what an instrument did meanwhile. */
	attemptOver(): void {
		if (--this.running === 0 && this.#calls.size === 0) this.#release();
	}

	settled(call: Call): void {
		this.#calls.remove(call);
		if (this.#calls.size > 0) return;
		this.#onEmpty?.();
		if (this.running === 0) this.#release();
	}

	/** Lets the program end: no caller waits, and no worker is busy with a call, also a cancelled one. */
	#release(): void {
		this.#releaseHost?.();
		this.#releaseHost = undefined;
	}

	/** Resolves when there is no call any more, or when the time is over. */
	async drain(ms: number): Promise<void> {
		if (this.#calls.size === 0) return;
		await new Promise<void>((resolve) => {
			this.#onEmpty = () => {
				this.#drain?.timer.cancel();
				this.#drain = undefined;
				resolve();
			};
			this.#waitFor(ms);
		});
	}

	/** A wait for their end is over after this time, if not before. */
	drainWithin(ms: number): void {
		if (this.#drain === undefined) return;
		if (this.#drain.untilMs <= this.#clock.now() + ms) return;
		this.#drain.timer.cancel();
		this.#waitFor(ms);
	}

	#waitFor(ms: number): void {
		this.#drain = {
			untilMs: this.#clock.now() + ms,
			timer: this.#clock.after(ms, () => this.endDrain()),
		};
	}

	/** Ends the wait for their end. */
	endDrain(): void {
		this.#onEmpty?.();
	}
}
