import type { Clock } from "../contract/clock.ts";
import type { ErrorCode } from "../contract/error-codes.ts";
import type { WorkerLostError } from "../contract/errors.ts";
import type { AttemptDetails } from "../contract/events.ts";
import type { StartedProcess } from "../contract/world.ts";
import { resolvesWithin } from "../deadline.ts";
import { outbox } from "../outbox.ts";
import { QUIET_MS } from "../process/output.ts";
import type { ConversationOutput } from "./worker-output.ts";

/** One call on one worker, as the worker sees it. */
export interface Attempt {
	readonly callId: string;
	readonly command: string;
	/** On the monotonic clock. */
	readonly startedMs: number;
	/** Whether its caller waits, and the adapter may still answer. */
	readonly expectsAnswer: boolean;
	/** For people who look at the run. */
	view(): AttemptView;
	/** The worker is gone or will be: the call ends here. Called at most once, never after the attempt finished. */
	lost(error: WorkerLostError): void;
}

/** One call on one worker, as people see it. */
export interface AttemptView {
	readonly callId: string;
	readonly command: string;
	readonly shape: "unary" | "stream" | "lease";
	/** What `observe.args` returned of its arguments, shortened; `undefined` if nothing. */
	readonly args: unknown;
	readonly sessionId: string | undefined;
	/** On the monotonic clock. */
	readonly startedMs: number;
	/** When it reported its progress last, on the monotonic clock; `undefined` if it has not. */
	readonly reportedMs: number | undefined;
	/** `"over"`: its caller has an answer or an error, and the worker is not done with it. */
	readonly caller: "waits" | "over";
	/** 1 for the first; 0 for one that waits behind another call of its worker. */
	readonly attempt: number;
	/** How long its call waited for this worker, in milliseconds. */
	readonly waitedMs: number;
	/** The attempts of its call that failed; at most the last 20. */
	readonly failed: readonly (AttemptDetails & {
		readonly code: ErrorCode;
		readonly pauseMs: number;
	})[];
}

/** What the end of a call says about its worker; `"cancelled"`: it began, and only a deadline or a cancel ended it. */
export type Conduct = "answered" | "cancelled" | "unknown";

/** The calls that one worker runs. */
export class RunningCalls {
	/** Few, and an array: a `Set` keeps those that are over from the garbage collector (see pool/placement/arrival-list.ts). */
	readonly attempts: readonly Attempt[];
	/** How many there were. */
	taken = 0;
	/** How many were cancelled and have not ended: if one does not, the worker is ended with all of them. */
	cancelled = 0;
	/** The command of the one that came last; of those that were lost, of the one that ran longest. */
	lastCommand: string | undefined;
	/** How many were lost. */
	lost = 0;
	/** How many were cancelled in a row, with none that was answered meanwhile. */
	cancelledInRow = 0;
	/** How many times the limit of those there may be. */
	leniency = 1;
	readonly #attempts: Attempt[] = [];
	/** Called when no call expects an answer any more. */
	readonly #waiting = new Set<() => void>();

	constructor() {
		this.attempts = this.#attempts;
	}

	/** The one that runs; `undefined` when there is none, or several. */
	get only(): Attempt | undefined {
		return this.#attempts.length === 1 ? this.#attempts[0] : undefined;
	}

	add(attempt: Attempt): void {
		this.taken++;
		this.lastCommand = attempt.command;
		this.#attempts.push(attempt);
	}

	/** Returns whether it was there. */
	remove(attempt: Attempt, conduct: Conduct): boolean {
		const at = this.#attempts.indexOf(attempt);
		if (at >= 0) this.#attempts.splice(at, 1);
		if (conduct === "cancelled") this.cancelledInRow++;
		else if (conduct === "answered") {
			this.cancelledInRow = 0;
			this.leniency = 1;
		}
		if (this.#waiting.size > 0) this.noteAnswers();
		return at >= 0;
	}

	/**
	 * Resolves when no call expects an answer any more, or none has come for a
	 * second after the adapter read what the worker wrote.
	 */
	async lastAnswers(
		clock: Clock,
		conversation?: ConversationOutput,
	): Promise<void> {
		if (!this.#expectsAnswers()) return;
		const answered = Promise.withResolvers<void>();
		this.#waiting.add(answered.resolve);
		await Promise.race([answered.promise, conversation?.finalOutput()]);
		await resolvesWithin(answered.promise, QUIET_MS, clock);
		this.#waiting.delete(answered.resolve);
	}

	/** Ends those that get no answer, if their worker runs on for a second: an exit that follows explains more. */
	async loseUnanswered(
		process: Pick<StartedProcess, "exited">,
		clock: Clock,
		error: () => WorkerLostError,
	): Promise<void> {
		const [gone] = await Promise.all([
			resolvesWithin(process.exited, QUIET_MS, clock),
			this.lastAnswers(clock),
		]);
		if (!gone) this.lose(error);
	}

	/** Ends those that are left. */
	lose(error: () => WorkerLostError): void {
		const lost = this.#attempts.splice(0);
		this.lost += lost.length;
		// The others may have been prefetched, or run beside one that hangs.
		this.lastCommand = lost[0]?.command ?? this.lastCommand;
		outbox.during(() => {
			for (const attempt of lost) attempt.lost(error());
		});
	}

	/** One of them has ended, or will get no answer from the adapter. */
	noteAnswers(): void {
		if (this.#expectsAnswers()) return;
		for (const resolve of this.#waiting) resolve();
	}

	#expectsAnswers(): boolean {
		for (const attempt of this.#attempts)
			if (attempt.expectsAnswer) return true;
		return false;
	}
}
