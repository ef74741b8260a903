import type { Afterwards } from "../contract/states.ts";
import type { SignalAnswer, SignalWish } from "./signal-answer.ts";

/** Something that must not outlive the program. */
export interface CleanupParticipant {
	/** What it wants for a signal that the program listens to itself. */
	readonly signalWish?: SignalWish;
	/** Ends in order, within about that time. */
	close(graceMs: number, afterwards: Afterwards): Promise<void>;
	/** Ends at once, in this very turn: nothing else runs after it. */
	killNow(): void;
	/** Called with a signal before anything is ended; `forced`: it is not the first. */
	signalled?(
		signal: NodeJS.Signals,
		forced: boolean,
		answer: SignalAnswer,
	): void;
	/** The program has not ended within the grace: everything is about to close. */
	graceSpent?(spent: SpentGrace): void;
	/** Sends what was observed, after all have closed; it has one second. */
	flush?(): Promise<void>;
}

/** A grace within which the program did not end. */
export interface SpentGrace {
	readonly signal: NodeJS.Signals;
	readonly graceMs: number;
	/** How many listeners the program has for the signal. */
	readonly otherListeners: number;
}
