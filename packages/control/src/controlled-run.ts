import type { RunSnapshot, UsageSnapshot } from "./snapshot.ts";

/** The view of a run that the server serves. Core implements it. */
export interface ControlledRun {
	/** Reads the current state of the run. In it, `usage` of workers and `why` calls wait are `null`: the server fills them in. */
	look(): RunSnapshot;
	/** What each worker's process group uses, by incarnation. Reads the process table: milliseconds. */
	usage(): ReadonlyMap<
		string,
		Pick<UsageSnapshot, "residentBytes" | "cpuTimeMs">
	>;
	/**
	 * Calls a listener with every event of a kind, until the returned function is called. Of a call, `"events"` contains
	 * only its end.
	 *
	 * @param meter is called at the end of each call, before its event; if it returns `false`, the event is not created.
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

/** One pool, as clients control it. Its errors have a `code` and a message for people. */
export interface ControlledPool {
	/**
	 * Carries out an act; resolves when it is done.
	 *
	 * @param parameters as the client sent them: the pool checks them.
	 */
	act(act: PoolAct, parameters: ActParameters, by: string): Promise<void>;
	/** Runs one command, and returns its result; of a stream, at most a thousand items, then what it returns. */
	call(call: CallParameters): Promise<unknown>;
	/** The commands of its workers; `undefined` when the adapter does not know them. */
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
	/** Whether it answers with a stream; absent if the adapter does not know. */
	readonly shape?: "unary" | "stream" | undefined;
	/** How many calls a worker runs together as a batch; absent if it does not batch them. */
	readonly batchMax?: number | undefined;
}

/** The program's clock. Its timers do not keep the program running. */
export interface ControlClock {
	/** Milliseconds on a monotonic clock. */
	now(): number;
	after(ms: number, action: () => void): { cancel(): void };
}
