import type { Clock, Timer } from "../../contract/clock.ts";
import type { CallProgress } from "../../contract/connection.ts";

/** Ten reports a second are as many as people can read. */
const INTERVAL_MS = 100;

type State =
	| { readonly kind: "ready" }
	/** A report was delivered a moment ago. The newest of those that come meanwhile waits. */
	| {
			readonly kind: "resting";
			readonly timer: Timer;
			newest: CallProgress | undefined;
	  }
	| { readonly kind: "over" };

/** Delivers the reports of one call to its caller: the first immediately, then at most one per interval. */
export class ProgressReports {
	readonly #clock: Clock;
	readonly #deliver: (progress: CallProgress) => void;
	#state: State = { kind: "ready" };
	#ready = Promise.withResolvers<void>();

	constructor(clock: Clock, deliver: (progress: CallProgress) => void) {
		this.#clock = clock;
		this.#deliver = deliver;
	}

	/** Resolves when another report would be delivered immediately; never when there will be none. */
	report(progress: CallProgress): Promise<void> {
		if (this.#state.kind === "ready") this.#deliverNow(progress);
		else if (this.#state.kind === "resting") this.#state.newest = progress;
		return this.#ready.promise;
	}

	/** The call is made again: what waits is of an attempt that failed. */
	retried(): void {
		if (this.#state.kind === "resting") this.#state.newest = undefined;
	}

	/** The call is over. One that succeeded delivers what waits: it may be the last word of the command. */
	end(how: "succeeded" | "failed"): void {
		const state = this.#state;
		this.#state = { kind: "over" };
		if (state.kind !== "resting") return;
		state.timer.cancel();
		if (how === "succeeded" && state.newest !== undefined)
			this.#deliver(state.newest);
	}

	#deliverNow(progress: CallProgress): void {
		const timer = this.#clock.after(INTERVAL_MS, this.#rested);
		this.#state = { kind: "resting", timer, newest: undefined };
		this.#deliver(progress);
	}

	readonly #rested = (): void => {
		if (this.#state.kind !== "resting") return;
		const { newest } = this.#state;
		this.#state = { kind: "ready" };
		if (newest !== undefined) {
			this.#deliverNow(newest);
			return;
		}
		this.#ready.resolve();
		this.#ready = Promise.withResolvers();
	};
}
