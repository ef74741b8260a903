import type { SignalAnswer, SignalWish } from "./signal-answer.ts";

/**
 * What comes after everything was ended: the program dies of the signal, or it
 * goes on. A program that dies does not see calls fail on the way: an error that
 * nobody catches would end it first, with the wrong exit code.
 */
export type Afterwards = "dies" | "goes_on";

/** Something that must not outlive the program. */
export interface CleanupParticipant {
	/** What it wants for a signal that the program listens to itself; without one it has no say. */
	readonly signalWish?: SignalWish;
	/** Ends in order, within about that time. */
	close(graceMs: number, afterwards: Afterwards): Promise<void>;
	/** Ends at once, in this very turn: nothing else runs after it. */
	killNow(): void;
	/** Hears of a signal before anything is ended; `forced` says that it is not the first. */
	signalled?(
		signal: NodeJS.Signals,
		forced: boolean,
		answer: SignalAnswer,
	): void;
	/** The program has not ended within the grace: everything is about to close. */
	graceSpent?(spent: SpentGrace): void;
	/** Sends what was observed, after all have closed; it has a second. */
	flush?(): Promise<void>;
}

/** A grace within which the program did not end. */
export interface SpentGrace {
	readonly signal: NodeJS.Signals;
	readonly graceMs: number;
	/** How many listeners the program has for the signal. */
	readonly otherListeners: number;
}
