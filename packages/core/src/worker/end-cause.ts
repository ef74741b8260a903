import type { RetireReason } from "../contract/events.ts";
import type { ProcessExit } from "../contract/identity.ts";
import type { EndReason, Killer } from "../contract/process-registry.ts";
import type { WorkerState } from "../contract/run-and-worker-states.ts";
import type { ResolvedRecycle } from "../options/pool-options.ts";
import { killerOf, type SentSignal } from "../process/process-end.ts";

const BY_ITSELF: readonly EndReason[] = ["exited", "broken", "start_failed"];

/** Why one worker ends, as a reason and in words, and what ended it. */
export class EndCause {
	#reason: EndReason | undefined;
	#verdict = "";
	#evidence: string | undefined;
	#note: string | undefined;
	/** Why it was retired, in words. */
	#retired: string | undefined;
	readonly #sent: SentSignal[] = [];

	/** `undefined` until it is decided. */
	get reason(): EndReason | undefined {
		return this.#reason;
	}
	/** The same in words; empty when it was not condemned. */
	get verdict(): string {
		return this.#verdict;
	}

	/** Whether it ended by itself, as far as is known. */
	get isOpen(): boolean {
		return this.#reason === undefined || BY_ITSELF.includes(this.#reason);
	}

	/** It ended by itself, because its companion did. */
	companionLost(verdict: string): void {
		this.#reason = "companion_lost";
		this.#verdict = verdict;
	}

	/** The process that had forked it is gone, and it with that. */
	parentLost(verdict: string): void {
		this.#reason = "parent_lost";
		this.#verdict = verdict;
	}

	/** The kernel killed it, as that says itself. */
	outOfMemory(evidence: string): void {
		this.#evidence = evidence;
		this.#verdict = `the kernel killed it, because memory had run out (${evidence})`;
	}

	/** What is known of who ended it, where that is not known. */
	noted(note: string): void {
		this.#note = note;
	}

	/** What the ledger has beside reason and killer. */
	get detail(): string | undefined {
		// The error of a start is recorded by itself.
		const words = this.#reason === "start_failed" ? "" : this.#verdict;
		if (this.#evidence !== undefined) return this.#evidence;
		if (words !== "") return words;
		return this.#reason === "recycled" ? this.#retired : this.#note;
	}

	/** It takes no more calls, and leaves. */
	retired(reason: RetireReason, recycle: ResolvedRecycle): void {
		this.presume(endReasonOf(reason));
		this.#retired = recycledBecause(reason, recycle);
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

	/** Its process is gone, in this state. One that only drained ended by itself, whatever it was to be ended for later. */
	exitedIn(state: WorkerState): void {
		if (state === "starting") this.presume("start_failed");
		if (state === "draining" && this.#reason !== "host_exit")
			this.#reason = "exited";
	}

	/** A signal reached it. */
	signalled(signal: NodeJS.Signals, by: SentSignal["by"]): void {
		this.#sent.push({ signal, by });
	}

	/** Its end was seen, or will not be. Returns what ended it. @param lostParent see {@link killerOf}. */
	conclude(exit: ProcessExit | undefined, lostParent?: Killer): Killer {
		const killer = killerOf(exit, this.#sent, lostParent);
		// The conversation broke because it was dying: its own end is the reason.
		if (this.#reason === "broken" && !isOurs(killer)) {
			this.#reason = "exited";
			this.#verdict = "";
		}
		return killer;
	}
}

function isOurs(killer: Killer): boolean {
	return killer === "stop_ladder" || killer === "application_cleanup";
}

/** The reason that is reported for the end of a retired worker. */
function endReasonOf(reason: RetireReason): EndReason {
	if (reason === "closed") return "closed";
	return reason === "leaving" ? "exited" : "recycled";
}

/** Which bound a recycled worker had reached, or what else it was replaced for. */
function recycledBecause(
	reason: RetireReason,
	recycle: ResolvedRecycle,
): string | undefined {
	const { afterMs, afterCalls, aboveResidentBytes, afterCancels } = recycle;
	switch (reason) {
		case "age":
			return `after ${afterMs} ms, recycle.afterMs`;
		case "calls":
			return `after ${afterCalls} ${afterCalls === 1 ? "call" : "calls"}, recycle.afterCalls`;
		case "resident_memory":
			return `above ${Math.round(aboveResidentBytes / 1e6)} MB, recycle.aboveResidentBytes`;
		case "cancels":
			return `its last calls all ended by their deadline or a cancel, recycle.afterCancels: ${afterCancels}`;
		case "requested":
			return "it was asked for";
		case "idle":
			return "it was idle";
		case "resized":
			return "its pool is smaller now";
		case "unconfirmed":
			return "a call was cancelled, and nothing tells when it ends";
		default:
			return undefined;
	}
}
