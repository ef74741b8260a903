import type { Clock } from "../contract/clock.ts";
import {
	type ProgramEnd,
	UNKNOWN_END,
	type UncaughtError,
} from "../contract/process-registry.ts";
import { placeIn, recordedError } from "../contract/recorded-error.ts";
import { systemClock } from "../os/system-clock.ts";
import {
	type ProgramEvents,
	programEvents,
	type SeenExit,
} from "../os/this-program.ts";

/** One who records how the program ends. */
interface EndRecorder {
	uncaught(error: UncaughtError): void;
	exited(exit: ProgramExit): void;
}

/** The exit of the program, or of the worker thread that this is. */
interface ProgramExit extends Pick<ProgramEnd, "at" | "of"> {
	readonly how: "finished" | "exited" | "signal";
	readonly wallMs: number;
	readonly code: number;
}

interface ProgramEndParts {
	readonly events: ProgramEvents;
	readonly clock: Pick<Clock, "wall">;
}

/**
 * Notifies those who record how the program ends: those of runs that are open, and the one of the run that was closed last. It
 * only looks on, from the first run on until the program ends.
 */
export class ProgramEndWatch {
	readonly #parts: ProgramEndParts;
	readonly #open = new Set<EndRecorder>();
	#last: EndRecorder | undefined;
	#state: "idle" | "watching" = "idle";

	constructor(parts: ProgramEndParts) {
		this.#parts = parts;
	}

	/** Returns the function that is to be called when the run is over. */
	register(recorder: EndRecorder): () => void {
		if (this.#state === "idle") this.#watch();
		this.#open.add(recorder);
		return () => {
			if (this.#open.delete(recorder)) this.#last = recorder;
		};
	}

	#watch(): void {
		this.#state = "watching";
		const { events, clock } = this.#parts;
		const of = events.mainThread ? "program" : "thread";
		events.onUncaught((thrown, origin, outcome) =>
			this.#notify(() => {
				const wallMs = clock.wall();
				const error = { ...recordedError(thrown), wallMs, origin, outcome };
				return (recorder) => recorder.uncaught(error);
			}),
		);
		events.onExit((exit) =>
			this.#notify(() => {
				const seen = { ...exitOf(exit), wallMs: clock.wall(), of } as const;
				return (recorder) => recorder.exited(seen);
			}),
		);
	}

	/** Whatever goes wrong here: the program ends as it would without this. */
	#notify(look: () => (recorder: EndRecorder) => void): void {
		const last = this.#last === undefined ? [] : [this.#last];
		try {
			const tell = look();
			for (const recorder of [...this.#open, ...last]) attempt(tell, recorder);
		} catch {
			// What was thrown cannot be described.
		}
	}
}

function attempt(
	tell: (recorder: EndRecorder) => void,
	recorder: EndRecorder,
): void {
	try {
		tell(recorder);
	} catch {
		// The other recorders still record it.
	}
}

function exitOf({
	code,
	stack,
	signal,
}: SeenExit): Pick<ProgramExit, "how" | "code" | "at"> {
	if (signal !== undefined) return { how: "signal", code, at: undefined };
	return stack === undefined
		? { how: "finished", code, at: undefined }
		: { how: "exited", code, at: placeIn(stack) };
}

/** One for all copies of this package in one thread. */
const SHARED = Symbol.for("snakepit.program-end");
const shared = globalThis as { [SHARED]?: ProgramEndWatch };

/** The end of this very program. */
export const programEnd: Pick<ProgramEndWatch, "register"> = {
	register(recorder) {
		shared[SHARED] ??= new ProgramEndWatch({
			events: programEvents,
			clock: systemClock,
		});
		return shared[SHARED].register(recorder);
	},
};

/** A program may catch errors again and again that way: so often they are written at most. */
const WRITTEN_AGAIN_MS = 1_000;

interface RunEndingParts {
	/** Whose end is the end of the run. */
	readonly of: ProgramEnd["of"];
	readonly clock: Pick<Clock, "wall">;
	/** Whether the ledger may contain messages of errors. */
	readonly content: "recorded" | "left_out";
	/** Of the run while it is open. */
	readonly record: (end: ProgramEnd, when: "now" | "later") => void;
	/** Of a run that is over. */
	readonly amend: (end: ProgramEnd) => void;
}

/** What is known of how the program of one run ends: put together from what is seen until then. */
export class RunEnding implements EndRecorder {
	readonly #clock: Pick<Clock, "wall">;
	readonly #content: RunEndingParts["content"];
	readonly #amend: RunEndingParts["amend"];
	/** `undefined` once the run is over. */
	#record: RunEndingParts["record"] | undefined;
	#end = UNKNOWN_END;
	#writtenMs = Number.NEGATIVE_INFINITY;

	constructor({ of, clock, content, record, amend }: RunEndingParts) {
		// A thread may end with its program, and cannot say so then.
		if (of === "thread") this.#end = { ...UNKNOWN_END, of };
		this.#clock = clock;
		this.#content = content;
		this.#record = record;
		this.#amend = amend;
	}

	/** What is known when the run is open. */
	begun(): void {
		if (this.#end.of === "thread") this.#record?.(this.#end, "later");
	}

	/** The program got a signal; `answer` as in the event `host.signal_received`. */
	signalled(
		name: NodeJS.Signals,
		answer: "close" | "kill" | "wait" | "ignore",
	): void {
		const wallMs = this.#clock.wall();
		this.#put({ signal: { name, wallMs } });
		if (answer === "close" || answer === "kill") this.endsBySignal();
	}

	/** It closes its runs, and ends by the last signal. */
	endsBySignal(): void {
		this.#put({ how: "signal", wallMs: this.#clock.wall() });
	}

	/** Nothing is left to do: its runs are closed, and it ends. */
	idle(code: number): void {
		const wallMs = this.#clock.wall();
		this.#put({ how: "finished", wallMs, code });
	}

	uncaught(error: UncaughtError): void {
		const isDue = error.wallMs - this.#writtenMs >= WRITTEN_AGAIN_MS;
		this.#end = { ...this.#end, error: this.#shown(error) };
		// What ends the program is recorded with its exit.
		if (error.outcome === "ends" || !isDue || this.#record === undefined)
			return;
		this.#writtenMs = error.wallMs;
		this.#record(this.#end, "now");
	}

	exited(exit: ProgramExit): void {
		const { how: before, code, error } = this.#end;
		const how = error?.outcome === "ends" ? "crashed" : exit.how;
		const at = how === "exited" ? exit.at : undefined;
		const known: Partial<ProgramEnd> = { ...exit, how, at };
		if (this.#record !== undefined) this.#put(known);
		// It may be recorded: a run is also closed when nothing is left to do.
		else if (before !== how || code !== exit.code)
			this.#amend({ ...this.#end, ...known });
	}

	/** The run is over: the file is closed, and nothing of the run is needed any more. */
	over(): void {
		this.#record = undefined;
	}

	#shown(error: UncaughtError): UncaughtError {
		return this.#content === "recorded"
			? error
			: { ...error, message: undefined };
	}

	#put(known: Partial<ProgramEnd>): void {
		this.#end = { ...this.#end, ...known };
		this.#record?.(this.#end, "later");
	}
}
