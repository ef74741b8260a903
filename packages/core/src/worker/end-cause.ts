import type { RetireReason } from "../pool-events.ts";
import type { EndReason, Killer } from "../registry/process-registry.ts";
import type { WorkerState } from "../worker-state.ts";

/** Why one worker goes, as a reason and in words, and who ended it. */
export class EndCause {
	#reason: EndReason | undefined;
	#verdict = "";
	/** Who ended it outside the stop ladder. */
	#killer: Killer | undefined;

	/** `undefined` until it is decided. */
	get reason(): EndReason | undefined {
		return this.#reason;
	}
	/** The same in words; empty when nobody condemned it. */
	get verdict(): string {
		return this.#verdict;
	}

	/** A reason that counts where there is none yet. */
	presume(reason: EndReason): void {
		this.#reason ??= reason;
	}

	/** Returns whether the verdict counts: a word is final, but for one that only drains. */
	condemn(state: WorkerState, reason: EndReason, verdict: string): boolean {
		if (state === "stopping" || this.#reason === "host_exit") return false;
		this.#reason = reason;
		this.#verdict = verdict;
		return true;
	}

	/** It ended by itself, whatever it was to be ended for later. */
	surprise(): void {
		if (this.#reason !== "host_exit") this.#reason = "exited";
	}

	/** Somebody ended it outside the stop ladder. */
	killedBy(killer: Killer): void {
		this.#killer = killer;
	}

	/**
	 * Its end was seen, or will not be. Returns who ended it.
	 *
	 * @param signalled whether the stop ladder needed a signal.
	 */
	conclude(signalled: boolean): Killer {
		const killer = this.#killer ?? (signalled ? "stop_ladder" : "none");
		// The conversation broke because it was dying: its own end is the reason.
		if (this.#reason === "broken" && killer === "none") {
			this.#reason = "exited";
			this.#verdict = "";
		}
		return killer;
	}
}

/** What the end of a worker is told to be for that was retired. */
export function endReasonOf(reason: RetireReason): EndReason {
	if (reason === "closed") return "closed";
	return reason === "leaving" ? "exited" : "recycled";
}
