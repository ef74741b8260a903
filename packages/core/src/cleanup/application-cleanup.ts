import { KeepAlive } from "../os/keep-alive.ts";
import { type ProcessEvents, processEvents } from "../os/process-events.ts";
import { systemClock } from "../os/system-clock.ts";
import type { Clock } from "../world.ts";

/**
 * What comes after everything was ended: the program dies of the signal, or it
 * goes on. Who dies shall not be told of failures on the way: an answer that
 * comes as an error would end the program first, with the wrong exit code.
 */
export type Afterwards = "dies" | "goes_on";

/** What becomes of a participant when a signal comes that the program listens to itself. */
export type OnSignal = "closed" | "left_to_program";

/** Something that must not outlive the program. */
export interface CleanupParticipant {
	/** `"closed"` by default; where the program dies of the signal it is closed in any case. */
	readonly onSignal?: OnSignal;
	/** Ends in order, within about that time. */
	close(graceMs: number, afterwards: Afterwards): Promise<void>;
	/** Ends at once, in this very turn: nothing else runs after it. */
	killNow(): void;
	/** Hears of a signal before anything is ended; `forced` says that it is not the first. */
	signalled?(signal: NodeJS.Signals, forced: boolean): void;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Who sends SIGTERM waits some seconds before SIGKILL: ten in Docker, 1.6 in pm2, thirty in Kubernetes. */
const GRACE_MS = 2_000;
/** What a participant may take longer before it is killed, and may need to notice that. */
const MARGIN_MS = 500;

export interface ApplicationCleanupParts {
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
 * are killed at once. Then the signal is sent again without a handler, so that
 * the program ends of it, unless the program listens to it itself, be it once.
 * With no participant there is no handler.
 */
export class ApplicationCleanup {
	readonly #parts: ApplicationCleanupParts;
	readonly #participants = new Set<CleanupParticipant>();
	#handlers: readonly (() => void)[] = [];
	/** While all participants close. */
	#closing: Promise<void> | undefined;
	/** The signal that is being answered; a further one forces. */
	#answering: symbol | undefined;

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
			events.onExit(() => killAll(this.#newestFirst())),
			events.onBeforeExit(() => void this.#onIdle()),
		];
	}

	#onSignal(signal: NodeJS.Signals): void {
		const forced = this.#answering !== undefined;
		const answer = Symbol(signal);
		this.#answering = answer;
		// One listener is ours: with another one the program decides itself what follows.
		const afterwards =
			this.#parts.events.signalListeners(signal) > 1 ? "goes_on" : "dies";
		for (const participant of this.#newestFirst())
			attempt(() => participant.signalled?.(signal, forced));
		const ended = this.#newestFirst().filter(
			({ onSignal }) => afterwards === "dies" || onSignal !== "left_to_program",
		);
		if (forced) {
			killAll(ended);
			this.#conclude(signal, afterwards);
			return;
		}
		void this.#close(afterwards, ended).then(() => {
			if (this.#answering === answer) this.#conclude(signal, afterwards);
		});
	}

	/** Nothing is left to do: end in order instead of leaving it to the exit. */
	async #onIdle(): Promise<void> {
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
		const letGo = this.#parts.keepAlive();
		const closed = Promise.allSettled(
			all.map(async (participant) => participant.close(GRACE_MS, afterwards)),
		);
		if (!(await this.#within(closed, GRACE_MS + MARGIN_MS))) {
			killAll(all);
			await this.#within(closed, MARGIN_MS);
		}
		for (const participant of all) this.#participants.delete(participant);
		letGo();
	}

	/** Lets the signal do what it does without us. */
	#conclude(signal: NodeJS.Signals, afterwards: Afterwards): void {
		this.#answering = undefined;
		this.#uninstall();
		if (afterwards === "dies") this.#parts.events.raise(signal);
		// The program goes on: so does the watch over what takes part still.
		if (this.#participants.size > 0) this.#handlers = this.#install();
	}

	#uninstallIfIdle(): void {
		// While it closes a second signal must still be heard.
		if (this.#participants.size === 0 && this.#closing === undefined)
			this.#uninstall();
	}

	#uninstall(): void {
		for (const remove of this.#handlers) remove();
		this.#handlers = [];
	}

	#newestFirst(): readonly CleanupParticipant[] {
		return [...this.#participants].reverse();
	}

	async #within(done: Promise<unknown>, ms: number): Promise<boolean> {
		const late = Promise.withResolvers<boolean>();
		const timer = this.#parts.clock.after(ms, () => late.resolve(false));
		const inTime = await Promise.race([done.then(() => true), late.promise]);
		timer.cancel();
		return inTime;
	}
}

function killAll(participants: readonly CleanupParticipant[]): void {
	for (const participant of participants) attempt(() => participant.killNow());
}

/** One participant that throws must not keep the others alive. */
function attempt(action: () => void): void {
	try {
		action();
	} catch {
		// The program is about to end: there is nobody left to tell.
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
