import type { RunSnapshot, UsageSnapshot } from "./snapshot.ts";

/** A run as its program makes it visible: what the server serves. Core implements it. */
export interface ControlledRun {
	/** Reads the run as it is now. `usage` of workers and `why` calls wait are `null` in it: the server knows them. */
	look(): RunSnapshot;
	/** What each worker's process group uses, by incarnation. Reads the process table: milliseconds. */
	usage(): ReadonlyMap<
		string,
		Pick<UsageSnapshot, "residentBytes" | "cpuTimeMs">
	>;
	/**
	 * Calls a listener with every event of a kind, until the returned function is called. A call has the one event of its
	 * end among `"events"`.
	 *
	 * @param meter is called at the end of each call, before its event: an event that nobody wants need not be made.
	 */
	subscribe(
		kind: "events" | "logs",
		listener: (event: ControlledEvent) => void,
		meter?: CallMeter,
	): () => void;
	/** `undefined` when there is none of that name. */
	pool(name: string): ControlledPool | undefined;
	/** Records who asked for what, as an event of the run. */
	record(request: RecordedRequest): void;
}

/** Counts a call that has ended, and returns whether its event is wanted. */
export type CallMeter = (
	pool: string,
	command: string,
	outcome: string,
	/** From acceptance to settlement. */
	totalMs: number,
) => boolean;

/** What happened in the run. */
export interface ControlledEvent {
	readonly type: string;
	/** Milliseconds since the Unix epoch. */
	readonly wallMs: number;
	readonly [field: string]: unknown;
}

export interface RecordedRequest {
	readonly pool: string;
	/** The act, or `call`. */
	readonly act: string;
	/** The worker it is about, or the command. */
	readonly target: string | undefined;
	/** Who asked, as the client says. */
	readonly by: string;
}

/** What a client may ask of a pool. */
export type PoolAct =
	| "recycle"
	| "restart"
	| "pause"
	| "resume"
	| "resize"
	| "drain"
	| "kill";

export const POOL_ACTS: readonly PoolAct[] = [
	"recycle",
	"restart",
	"pause",
	"resume",
	"resize",
	"drain",
	"kill",
];

/** One pool, to act on. What it throws has a `code` and a message for people. */
export interface ControlledPool {
	/**
	 * Carries out an act; resolves when it is done.
	 *
	 * @param parameters as the client sent them: the pool checks them.
	 */
	act(act: PoolAct, parameters: ActParameters, by: string): Promise<void>;
	/** Runs one command, and returns its result; a stream's items, at most as many as `CALL_ITEMS`. */
	call(call: CallParameters): Promise<unknown>;
	/** What its workers can be asked for; `undefined` when the adapter cannot say. */
	tools(signal: AbortSignal): Promise<readonly ToolSnapshot[]> | undefined;
}

export interface ActParameters {
	/** For `recycle` and `restart`: the id of a worker; for `recycle` also `"all"`. */
	readonly worker?: unknown;
	/** For `recycle`: `"gentle"` or `"forced"`. */
	readonly manner?: unknown;
	/** For `resize`. */
	readonly min?: unknown;
	readonly max?: unknown;
	/** For `drain`: how long calls have to end, in milliseconds. */
	readonly drainMs?: unknown;
}

export interface CallParameters {
	readonly command: string;
	readonly args: unknown;
	readonly timeoutMs: number | undefined;
	/** Aborts when the client is gone. */
	readonly signal: AbortSignal;
}

export interface ToolSnapshot {
	readonly name: string;
	readonly description: string;
	/** JSON Schema of the arguments. */
	readonly argumentsSchema: unknown;
	/** Whether it answers with a stream; absent where the adapter cannot say. */
	readonly shape?: "unary" | "stream" | undefined;
	/** How many calls a worker runs together, as a batch; absent where each is by itself. */
	readonly batchMax?: number | undefined;
}

/** Time, as the program has it. Its timers keep no program open. */
export interface ControlClock {
	/** Milliseconds on a monotonic clock. */
	now(): number;
	after(ms: number, action: () => void): { cancel(): void };
}
