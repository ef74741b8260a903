import type { Clock, Timer } from "../contract/clock.ts";
import type { EventOf, SnakepitEvent } from "../contract/events.ts";
import type { ProcessHost } from "../contract/world.ts";
import type { ProgramTimes } from "../os/this-program.ts";

/** How often it is looked whether the event loop turns. */
const LOOK_MS = 1_000;
/** A shorter standstill is none: what shares a busy machine waits that long now and then. */
export const STANDSTILL_MS = 2_000;

type Event = EventOf<"host.stood_still">;
type Standstill = Pick<Event, "kind" | "durationMs" | "processorMs">;

/** This program at one moment; all in milliseconds. */
export interface ProgramLook {
	/** Of the monotonic clock, which stands while the machine is suspended. */
	readonly nowMs: number;
	/** Since the start of the machine. */
	readonly machineMs: number;
	/** Processor time of the program. */
	readonly processorMs: number;
}

/**
 * Decides whether a program stood still between two looks, {@link LOOK_MS} apart if the event loop turns, and why;
 * `undefined` if it did not.
 *
 * @param isContinued whether the program got SIGCONT meanwhile.
 */
export function standstillBetween(
	before: ProgramLook,
	now: ProgramLook,
	isContinued: boolean,
): Standstill | undefined {
	const passedMs = now.nowMs - before.nowMs;
	const lateMs = Math.max(0, passedMs - LOOK_MS);
	const suspendedMs = now.machineMs - before.machineMs - passedMs;
	const processorMs = now.processorMs - before.processorMs;
	if (suspendedMs >= STANDSTILL_MS)
		return {
			...{ kind: "suspended", durationMs: suspendedMs + lateMs },
			processorMs,
		};
	if (lateMs < STANDSTILL_MS) return undefined;
	// Supervisors send SIGCONT to programs that are not stopped, too, but what is stopped computes nothing.
	const isStopped = isContinued && processorMs < lateMs / 2;
	const kind = isStopped ? "stopped" : "blocked";
	return { kind, durationMs: lateMs, processorMs };
}

interface StandstillsParts {
	readonly host: Pick<ProcessHost, "debuggerAttached">;
	readonly clock: Clock;
	readonly times: ProgramTimes;
	readonly emit: (event: SnakepitEvent) => void;
}

/** Reports that this program stood still and goes on: nothing else would tell later why its calls waited. */
export class Standstills {
	readonly #parts: StandstillsParts;
	readonly #ignoreContinued: () => void;
	#before: ProgramLook;
	/** Whether the program got SIGCONT since then. */
	#isContinued = false;
	/** `undefined` once it is stopped. */
	#timer: Timer | undefined;

	constructor(parts: StandstillsParts) {
		this.#parts = parts;
		this.#ignoreContinued = parts.times.onContinued(() => {
			this.#isContinued = true;
		});
		this.#before = this.#look();
		this.#timer = this.#schedule();
	}

	stop(): void {
		this.#timer?.cancel();
		this.#timer = undefined;
		this.#ignoreContinued();
	}

	#schedule(): Timer {
		const { clock } = this.#parts;
		return clock.after(LOOK_MS, () => {
			const now = this.#look();
			const wallMs = clock.wall();
			// A signal is read later in this turn of the event loop.
			clock.soon(() => {
				if (this.#timer !== undefined) this.#judge(now, wallMs);
			});
		});
	}

	#judge(now: ProgramLook, wallMs: number): void {
		const { host, emit } = this.#parts;
		const standstill = standstillBetween(this.#before, now, this.#isContinued);
		this.#before = now;
		this.#isContinued = false;
		this.#timer = this.#schedule();
		if (standstill === undefined) return;
		// At a breakpoint it stands still as somebody wants it.
		if (standstill.kind === "blocked" && host.debuggerAttached()) return;
		const sinceWallMs = wallMs - standstill.durationMs;
		emit({ type: "host.stood_still", wallMs, sinceWallMs, ...standstill });
	}

	#look(): ProgramLook {
		const { clock, times } = this.#parts;
		return {
			nowMs: clock.now(),
			machineMs: times.machineMs(),
			processorMs: times.processorMs(),
		};
	}
}
