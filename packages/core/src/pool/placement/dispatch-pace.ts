import type { Clock } from "../../contract/clock.ts";

/**
 * How many calls that waited are sent to workers before the event loop gets its
 * turn. Without a limit, workers that finish together make one long turn, in
 * which nothing else of the program happens (docs/decisions/0014).
 */
export const DISPATCHES_AT_ONCE = 32;

/**
 * The pace at which workers that finish together get calls that waited: a limited number in each turn of the event
 * loop, in the order in which they came.
 *
 * The count continues over turns: to know where one begins would cost every call more
 * than it costs one in so many to wait for the next.
 */
export class DispatchPace<Worker> {
	readonly #clock: Clock;
	readonly #atOnce: number;
	readonly #serve: (worker: Worker) => void;
	/** Those that are served in the next turns. Empty unless the pace is reached. */
	readonly postponed: ReadonlySet<Worker>;
	readonly #postponed = new Set<Worker>();
	#sent = 0;
	#next: "not asked for" | "asked for" = "not asked for";

	/** @param serve gives a worker that was postponed what it can take; may postpone it again. */
	constructor(clock: Clock, atOnce: number, serve: (worker: Worker) => void) {
		this.#clock = clock;
		this.#atOnce = atOnce;
		this.#serve = serve;
		this.postponed = this.#postponed;
	}

	/** No more is sent before the next turn. */
	get isReached(): boolean {
		return this.#sent >= this.#atOnce;
	}

	/** One more is sent. */
	count(): void {
		this.#sent++;
	}

	postpone(worker: Worker): void {
		this.#postponed.add(worker);
		this.#askForNext();
	}

	/** Serves all now: there is nothing to send. One that is postponed again waits for its turn. */
	release(): void {
		for (const worker of [...this.#postponed])
			if (this.#postponed.delete(worker)) this.#serve(worker);
	}

	/** The worker is gone: it has no turn any more. */
	forget(worker: Worker): void {
		this.#postponed.delete(worker);
	}

	#askForNext(): void {
		if (this.#next === "asked for") return;
		this.#next = "asked for";
		this.#clock.soon(this.#goOn);
	}

	readonly #goOn = (): void => {
		this.#next = "not asked for";
		this.#sent = 0;
		for (const worker of this.#postponed) {
			if (this.isReached) {
				this.#askForNext();
				return;
			}
			this.#postponed.delete(worker);
			this.#serve(worker);
		}
	};
}
