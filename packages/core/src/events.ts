import type { CallEvent } from "./call-events.ts";
import type { CompanionEvent } from "./companion-events.ts";
import type { InstrumentProblem } from "./instrument.ts";
import type { JobEvent } from "./job-events.ts";
import type { PoolEvent } from "./pool-events.ts";
import type { RunEvent } from "./run-events.ts";
import type { WorkerEvent } from "./worker-events.ts";

/** In every event: when it happened. */
export interface EventTime {
	/** Milliseconds since the Unix epoch. */
	readonly wallMs: number;
}

/** Events of the host program itself. */
export type HostEvent =
	| {
			/** The program got SIGINT, SIGTERM or SIGHUP. `forced`: it is the second signal. */
			readonly type: "host.signal_received";
			readonly signal: NodeJS.Signals;
			readonly forced: boolean;
			/** What follows: the pools close, are killed, or stay open for now (`"wait"`) or for good (`"ignore"`). */
			readonly answer: "close" | "kill" | "wait" | "ignore";
			/** With `"wait"`: how long the program has to end by itself, in milliseconds; else 0. */
			readonly graceMs: number;
	  }
	| {
			/**
			 * The program listens to the signal itself and has not ended within `signalGraceMs`: its pools
			 * close, then it ends by the signal.
			 */
			readonly type: "host.grace_spent";
			readonly signal: NodeJS.Signals;
			readonly graceMs: number;
			/** How many listeners of the program did not end it. */
			readonly otherListeners: number;
	  }
	| ({
			/** Telemetry does not reach the registered SDK; `reason` and `remedy` say why and what to do. Reported once. */
			readonly type: "telemetry.misconfigured";
	  } & InstrumentProblem)
	| {
			/** A callback of the program, such as a listener, threw or did not answer in time; `of` names it. The pool and other listeners continue. */
			readonly type: "listener.threw";
			readonly of: string;
			readonly error: unknown;
	  };

/**
 * What happened, as `pool.on()` and `onEvent` receive it: `type` names it, `wallMs` is when, and the fields beside them
 * depend on the type. A closed union of facts in the past tense, so a `switch` on `type` knows the fields of each; what
 * lasts has one start and exactly one end. docs/reference/events.md lists all.
 */
export type SnakepitEvent = EventTime &
	(
		| RunEvent
		| PoolEvent
		| WorkerEvent
		| CompanionEvent
		| CallEvent
		| JobEvent
		| HostEvent
	);

/** The name of an event, such as `"worker.ready"`. */
export type SnakepitEventType = SnakepitEvent["type"];
/** The event of one type. */
export type EventOf<Type extends SnakepitEventType> = Extract<
	SnakepitEvent,
	{ readonly type: Type }
>;

/** Is called with every event. One that throws cannot hurt the pool. */
export interface SnakepitListener {
	(event: SnakepitEvent): void;
	/**
	 * Events that it shows to people. Core writes none of these to standard error
	 * then (`output.echo`), as it does by default for events that no listener takes.
	 */
	readonly takes?: readonly SnakepitEventType[] | undefined;
}
