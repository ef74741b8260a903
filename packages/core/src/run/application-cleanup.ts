import type { Clock, Timer } from "../contract/clock.ts";
import type { Afterwards } from "../contract/run-and-worker-states.ts";
import { resolvesWithin } from "../deadline.ts";
import { systemClock } from "../os/system-clock.ts";
import {
	KeepAlive,
	type ProcessEvents,
	processEvents,
} from "../os/this-program.ts";
import { outbox } from "../outbox.ts";

/** Something that must not outlive the program. */
export interface CleanupParticipant {
	/** What it wants for a signal that the program listens to itself. */
	readonly signalWish?: SignalWish;
	/** Ends in order, within about that time. */
	close(graceMs: number, afterwards: Afterwards): Promise<void>;
	/** Ends in this turn of the event loop: nothing else runs after it. */
	killNow(): void;
	/** Called with a signal before anything is ended; `forced`: it is not the first. */
	signalled?(
		signal: NodeJS.Signals,
		forced: boolean,
		answer: SignalAnswer,
	): void;
	/** Nothing is left to do, and everything is about to close: the program will end with this code. */
	idle?(code: number): void;
	/** The program has not ended within the grace: everything is about to close. */
	graceSpent?(spent: SpentGrace): void;
	/** Sends what was observed, after all have closed; it has one second. */
	flush?(): Promise<void>;
}

/** A grace within which the program did not end. */
interface SpentGrace {
	readonly signal: NodeJS.Signals;
	readonly graceMs: number;
	/** How many listeners the program has for the signal. */
	readonly otherListeners: number;
}

/** What a run wants for a signal that the program listens to itself. */
export interface SignalWish {
	/** `"end"`: after the grace the pools close and the program ends by the signal; `"ignore"`: the program decides alone. */
	readonly onSignal: "end" | "ignore";
	/** How long the program has to end by itself. */
	readonly graceMs: number;
}

/** What follows a signal. */
interface SignalAnswer {
	/**
	 * `"close"`: the pools close in order, then the program ends by the signal; `"kill"`: the same with pools that are
	 * killed at once; `"wait"`: the pools stay open, and the program has a grace; `"ignore"`: nothing.
	 */
	readonly kind: "close" | "kill" | "wait" | "ignore";
	/** With `"wait"`; else 0. */
	readonly graceMs: number;
}

interface ArrivedSignal {
	readonly signal: NodeJS.Signals;
	/** Whether an earlier signal is still being answered. */
	readonly forced: boolean;
	/** How many listeners of the program might end it. */
	readonly otherListeners: number;
	readonly wishes: readonly SignalWish[];
}

/**
 * Decides what follows a signal. A program with a listener of its own has a
 * grace; the longest one that a run asks for holds, and one run with `"ignore"`
 * is enough to leave the program alone.
 */
function answerSignal({
	signal,
	forced,
	otherListeners,
	wishes,
}: ArrivedSignal): SignalAnswer {
	if (otherListeners === 0)
		return { kind: forced ? "kill" : "close", graceMs: 0 };
	// By custom a program listens to SIGHUP to read its configuration again.
	if (signal === "SIGHUP" || isIgnored(wishes))
		return { kind: "ignore", graceMs: 0 };
	if (forced) return { kind: "kill", graceMs: 0 };
	const graces = wishes.map(({ graceMs }) => graceMs);
	return { kind: "wait", graceMs: Math.max(0, ...graces) };
}

/** Whether one of the runs leaves signals to the program. */
function isIgnored(wishes: readonly SignalWish[]): boolean {
	return wishes.some(({ onSignal }) => onSignal === "ignore");
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** After SIGTERM a supervisor waits some seconds before SIGKILL: ten in Docker, 1.6 in pm2, thirty in Kubernetes. */
const GRACE_MS = 2_000;
/** What a participant may take longer before it is killed, and may need to notice that. */
const MARGIN_MS = 500;
/** What was observed is in memory; a receiver nearby takes it within milliseconds. */
export const FLUSH_MS = 1_000;

/**
 * A terminal sends Ctrl-C to a program and to the npm that started it, and npm
 * passes it on to the program where its shell is bash. Both arrive within a
 * millisecond of each other on an idle machine.
 */
const ECHO_MS = 500;

/** The end of the program after a signal, as far as it has come. */
type Ending =
	| {
			readonly phase: "waiting";
			readonly signal: NodeJS.Signals;
			/** Of the clock, in milliseconds. */
			readonly sinceMs: number;
			readonly timer: Timer;
	  }
	| { readonly phase: "closing"; readonly signal: NodeJS.Signals };

interface ApplicationCleanupParts {
	readonly events: ProcessEvents;
	readonly clock: Clock;
	/** Holds the program open; returns the way back. */
	readonly keepAlive: () => () => void;
}

/**
 * Ends everything that takes part before the program ends: on SIGINT, SIGTERM,
 * SIGHUP, an uncaught error, `process.exit()` and when nothing is left to do.
 *
 * After the first signal all participants close in order; after the second they
 * are killed immediately. Then the signal is sent again without a handler, so that
 * the program ends by it. A program that listens to the signal itself, be it
 * once, has a grace first, in which everything stays open (`answerSignal`). With
 * no participant there is no handler.
 */
export class ApplicationCleanup {
	readonly #parts: ApplicationCleanupParts;
	readonly #participants = new Set<CleanupParticipant>();
	#handlers: readonly (() => void)[] = [];
	/** While all participants close. */
	#closing: Promise<void> | undefined;
	/** While a signal is being answered; a further one forces. */
	#ending: Ending | undefined;

	constructor(parts: ApplicationCleanupParts) {
		this.#parts = parts;
	}

	/** Returns the function that ends the participation; calling it again does nothing. */
	register(participant: CleanupParticipant): () => void {
		this.#participants.add(participant);
		if (this.#handlers.length === 0) this.#handlers = this.#install();
		return () => {
			this.#participants.delete(participant);
			this.#uninstallIfIdle();
		};
	}

	#install(): readonly (() => void)[] {
		const { events } = this.#parts;
		// Elsewhere no signal arrives, and the end of the thread is an exit.
		const signals = events.mainThread ? SIGNALS : [];
		return [
			...signals.map((signal) =>
				events.onSignal(signal, () => this.#onSignal(signal)),
			),
			events.onExit(() => {
				killAll(this.#newestFirst());
				// A listener may have called exit(): no later turn delivers what that and its event left.
				outbox.flush();
			}),
			events.onBeforeExit(() => void this.#onIdle()),
		];
	}

	#onSignal(signal: NodeJS.Signals): void {
		if (this.#isEcho(signal)) return;
		const forced = this.#ending !== undefined;
		const otherListeners = this.#parts.events.otherListeners(signal);
		const answer = answerSignal({
			signal,
			forced,
			otherListeners,
			wishes: this.#wishes(),
		});
		for (const participant of this.#newestFirst())
			attempt(() => participant.signalled?.(signal, forced, answer));
		switch (answer.kind) {
			case "ignore":
				return;
			case "wait":
				this.#wait(signal, answer.graceMs);
				return;
			case "close":
				void this.#closeAndEnd(signal);
				return;
			case "kill":
				this.#cancelEnding();
				killAll(this.#newestFirst());
				if (otherListeners === 0) this.#end(signal);
				// Theirs come after ours in this turn, and may exit with a code of their own.
				else void Promise.resolve().then(() => this.#end(signal));
		}
	}

	#isEcho(signal: NodeJS.Signals): boolean {
		const ending = this.#ending;
		return (
			ending?.phase === "waiting" &&
			ending.signal === signal &&
			this.#parts.clock.now() - ending.sinceMs < ECHO_MS
		);
	}

	/** Everything stays open, and nothing holds the program. */
	#wait(signal: NodeJS.Signals, graceMs: number): void {
		const { clock } = this.#parts;
		const timer = clock.after(graceMs, () => this.#graceSpent(signal, graceMs));
		this.#ending = { phase: "waiting", signal, sinceMs: clock.now(), timer };
	}

	#graceSpent(signal: NodeJS.Signals, graceMs: number): void {
		this.#ending = undefined;
		// One that began meanwhile may leave the program alone.
		if (isIgnored(this.#wishes())) return;
		const { events } = this.#parts;
		const spent = {
			signal,
			graceMs,
			otherListeners: events.otherListeners(signal),
		};
		for (const participant of this.#newestFirst())
			attempt(() => participant.graceSpent?.(spent));
		events.warn(warningOf(spent));
		void this.#closeAndEnd(signal);
	}

	async #closeAndEnd(signal: NodeJS.Signals): Promise<void> {
		const ending: Ending = { phase: "closing", signal };
		this.#ending = ending;
		const closed = this.#newestFirst();
		await this.#close("dies", closed);
		if (this.#ending !== ending) return;
		this.#ending = undefined;
		this.#killLate(closed);
		this.#end(signal);
	}

	/** Kills participants that registered while the others closed, and the run that they share with them. */
	#killLate(closed: readonly CleanupParticipant[]): void {
		const late = this.#newestFirst().filter((each) => !closed.includes(each));
		if (late.length > 0) killAll([...late, ...closed]);
	}

	#wishes(): readonly SignalWish[] {
		return [...this.#participants].flatMap(({ signalWish }) =>
			signalWish === undefined ? [] : [signalWish],
		);
	}

	#cancelEnding(): void {
		if (this.#ending?.phase === "waiting") this.#ending.timer.cancel();
		this.#ending = undefined;
	}

	/** Nothing is left to do: end in order instead of leaving it to the exit. */
	async #onIdle(): Promise<void> {
		const code = this.#parts.events.exitCode();
		for (const participant of this.#newestFirst())
			attempt(() => participant.idle?.(code));
		await this.#close("goes_on", this.#newestFirst());
		this.#uninstallIfIdle();
	}

	#close(
		afterwards: Afterwards,
		participants: readonly CleanupParticipant[],
	): Promise<void> {
		this.#closing ??= this.#closeAll(afterwards, participants).finally(() => {
			this.#closing = undefined;
		});
		return this.#closing;
	}

	async #closeAll(
		afterwards: Afterwards,
		all: readonly CleanupParticipant[],
	): Promise<void> {
		const { clock, keepAlive } = this.#parts;
		const release = keepAlive();
		const closed = Promise.allSettled(
			all.map(async (participant) => participant.close(GRACE_MS, afterwards)),
		);
		if (!(await resolvesWithin(closed, GRACE_MS + MARGIN_MS, clock))) {
			killAll(all);
			await resolvesWithin(closed, MARGIN_MS, clock);
		}
		for (const participant of all) this.#participants.delete(participant);
		const flushed = Promise.allSettled(
			all.map(async (participant) => participant.flush?.()),
		);
		await resolvesWithin(flushed, FLUSH_MS, clock);
		release();
	}

	/** Has the signal do what it does without any listener. */
	#end(signal: NodeJS.Signals): void {
		this.#uninstall();
		this.#parts.events.endBy(signal);
	}

	#uninstallIfIdle(): void {
		// While it closes, a second signal must still be handled.
		if (this.#participants.size === 0 && this.#closing === undefined)
			this.#uninstall();
	}

	#uninstall(): void {
		// Nothing of ours is left to close: the program ends as it wants.
		if (this.#ending?.phase === "waiting") this.#cancelEnding();
		for (const remove of this.#handlers) remove();
		this.#handlers = [];
	}

	#newestFirst(): readonly CleanupParticipant[] {
		return [...this.#participants].reverse();
	}
}

function warningOf({ signal, graceMs, otherListeners }: SpentGrace): string {
	return `${signal} came ${graceMs / 1_000} s ago and the program, which listens to it, has not ended (listeners now: ${otherListeners}). Snakepit closes its pools and ends it by ${signal}. For more time, set signalGraceMs. To end the program yourself, set onSignal: "ignore", close the pools in your listener and then exit.`;
}

function killAll(participants: readonly CleanupParticipant[]): void {
	for (const participant of participants) attempt(() => participant.killNow());
}

/** One participant that throws must not keep the others alive. */
function attempt(action: () => void): void {
	try {
		action();
	} catch {
		// The program is about to end: nothing could report it.
	}
}

/** One for all copies of this package in one thread: a signal is handled once. */
const SHARED = Symbol.for("snakepit.application-cleanup");
const shared = globalThis as { [SHARED]?: ApplicationCleanup };

/** The clean-up of this very program. */
export const applicationCleanup: Pick<ApplicationCleanup, "register"> = {
	register(participant) {
		shared[SHARED] ??= new ApplicationCleanup({
			events: processEvents,
			clock: systemClock,
			keepAlive: (() => {
				const alive = new KeepAlive();
				return () => alive.hold();
			})(),
		});
		return shared[SHARED].register(participant);
	},
};
