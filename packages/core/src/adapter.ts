import type { AsyncResource } from "node:async_hooks";
import type { CallProgress } from "./call-progress.ts";
import type {
	CompanionPlace,
	LaunchSpec,
	PreloadPlace,
	SlotCompanion,
} from "./launch-spec.ts";
import type { NOT_SAMPLED } from "./not-sampled.ts";
import type { LayerReport } from "./protection.ts";
import type { LocatedRun, RemoteUsage, WorkerPlace } from "./remote-worker.ts";
import type { WorkerProcess, WorkerSlot } from "./worker-process.ts";

export { brandAs } from "./brand.ts";
export { callAborted } from "./call-aborted.ts";
export type { CallProgress } from "./call-progress.ts";
export type { InputErrorCode, StartErrorCode } from "./error-codes.ts";
export { ConnectionBrokenError } from "./errors.ts";
export type {
	CompanionPlace,
	LaunchDescriptor,
	LaunchSpec,
	ListenerAddress,
	PreloadPlace,
	SlotCompanion,
} from "./launch-spec.ts";
export { NOT_SAMPLED } from "./not-sampled.ts";
export {
	PROGRAM_CHECKS,
	type ProgramOptions,
	programSpec,
} from "./program-options.ts";
export type { LocatedRun, RemoteUsage, WorkerPlace } from "./remote-worker.ts";
export type {
	WorkerLogRecord,
	WorkerProcess,
	WorkerSlot,
} from "./worker-process.ts";

/**
 * What to start and how to converse with it. The pool owns the process, the
 * adapter owns the conversation: an adapter never holds the means to kill.
 *
 * @typeParam Client of its connections, for `pool.use`.
 */
export interface Adapter<Client = unknown> {
	/** Stable and lower case, for example `python`; appears in events. 1 to 40 letters, digits, dots, dashes or underscores. */
	readonly name: string;
	/**
	 * Whether its workers stop where a person debugs them. Its pools then have one worker for one call at a time whatever
	 * their options say, no heartbeat, and no deadline for starts, calls, cancels and stops.
	 */
	readonly debugged?: boolean | undefined;
	/** Called once per pool before anything is started: environments, builds. Effects are allowed. */
	prepare?(signal: AbortSignal): Promise<void>;
	/**
	 * Says what the workers can be asked for, while one of them is connected: for people, and for programs that make
	 * forms of it.
	 */
	describe?(signal: AbortSignal): Promise<readonly CommandDescription[]>;
	/** Looks whether its workers can start on this machine, and what slows that down; for `doctor`. Leaves nothing behind. */
	inspect?(): Promise<LayerReport>;
	/** The options that it was made from, for `sharedPool`: with equal ones a pool is kept when its module is loaded again. Absent: by its own fields, and functions of each load differ. */
	readonly madeFrom?: unknown;
	/** Takes over the functions of this program from an adapter with equal {@link madeFrom}, as a module that was loaded again made it. */
	adopt?(next: Adapter): void;
	/** What `prepare` found out and people may want to know, reported as events: which interpreter was chosen, and why. */
	notes?(): readonly string[];
	/**
	 * Is called once when the pool is open, by an adapter whose program may change while it runs, as source files do.
	 * Returns what is called when the pool begins to close.
	 */
	watch?(pool: ReloadablePool): () => void;
	/**
	 * Says what to execute for one slot. Called again for every start, so what is made once belongs in `prepare`. An answer
	 * that takes its time has as much as `start.timeoutMs`.
	 *
	 * @param signal aborted when the start fails, here or later, or the pool closes
	 *   meanwhile: what was reserved for this worker can be released.
	 */
	launch(
		slot: WorkerSlot,
		signal: AbortSignal,
	): LaunchSpec | Promise<LaunchSpec>;
	/**
	 * Is called each time that the program of {@link launch} runs. It has work of its own before it can be connected to:
	 * this is when to load the code that only `connect` needs. Loading it before, within `launch`, would delay the program.
	 */
	spawned?(): void;
	/**
	 * Says what to execute as the preloaded parent of a pool: a process that has
	 * imported what all workers need, and forks them (docs/bridge-protocol.md,
	 * section 6) when it is asked for what {@link launch} says. Absent, or where it
	 * returns nothing: each worker is started by itself. Pure: called again for
	 * every start of a parent.
	 */
	preload?(place: PreloadPlace): LaunchSpec | undefined;
	/**
	 * Says what to execute as the companion of a pool: one process that its workers need, as the client of a cluster.
	 * It is started before them, recorded as they are, and ended after them. When it is lost, its workers are ended,
	 * which costs none of the restart budget, and it is started anew, after a pause that grows; calls wait meanwhile. A
	 * worker that ends because it lost its companion exits with status 70. Called again for every start.
	 *
	 * @param signal aborted when the pool closes meanwhile.
	 */
	companion?(
		place: CompanionPlace,
		signal: AbortSignal,
	): LaunchSpec | Promise<LaunchSpec>;
	/** What the first companion of a pool has found out about `runsElsewhere`; those that its cluster does not know are left out. */
	located?(companion: SlotCompanion): readonly LocatedRun[];
	/** Resolves when the first call can be taken. Aborted when the start takes too long or the process ends. */
	connect(
		process: WorkerProcess,
		signal: AbortSignal,
	): Promise<Connection<Client>>;
}

/** A pool whose program may change. */
export interface ReloadablePool {
	/**
	 * Replaces every worker by one that has the program as it is now: the new one is ready before the old one is asked to
	 * leave, and calls of the old one are finished. Workers that could not be started before are tried again. One at a
	 * time. Never rejects.
	 *
	 * @param files what changed, for people.
	 * @param parent whether the preloaded parent has the program, too.
	 * @returns why a worker could not be started; the old ones stay then.
	 */
	reload(
		files: readonly string[],
		parent: "kept" | "renewed",
	): Promise<Error | undefined>;
	/** Calls `action` once after `ms` milliseconds; does not hold the program open. */
	after(ms: number, action: () => void): { cancel(): void };
}

/** What a worker can be asked for. */
export interface CommandDescription {
	readonly name: string;
	readonly description: string;
	/** JSON Schema of the arguments. */
	readonly argumentsSchema: unknown;
	/** One result for `execute`, or items for `stream`; absent where that is not known. */
	readonly shape?: "unary" | "stream" | undefined;
	/** How many calls a worker runs together, as a batch; absent where each is by itself. */
	readonly batchMax?: number | undefined;
}

/** What {@link Connection.execute} resolves to when the call was sent, but has certainly not begun and never will. */
export const NOT_BEGUN: unique symbol = Symbol.for("snakepit.notBegun");

/** Calls that wait in the worker until it is done with the one that it runs. */
export interface SendAhead {
	/** Whether this call may be sent while the worker runs another one: it is small, and can be taken back. */
	admits(command: string, args: unknown): boolean;
	/**
	 * Takes back this call and those that were sent after it, in this very turn and whatever the worker is doing: returns
	 * the ids of those that have not begun and never will. Their `execute` resolves to {@link NOT_BEGUN}. So does that of
	 * any other call for which the worker, or its memory after its death, shows that it did not begin.
	 */
	takeBack(callId: string): ReadonlySet<string>;
}

/** A conversation with one worker. */
export interface Connection<Client = unknown> extends AsyncDisposable {
	/** What `pool.use` gives to its tasks: the client object of a library that speaks to this worker. */
	readonly client?: Client | undefined;
	/** What the worker said about itself and people may want to see, as its version and capabilities: part of its `WorkerView`. */
	readonly facts?: Readonly<Record<string, unknown>> | undefined;
	/** The machine on which the worker runs, where that is another one: shown beside it, and kept in the ledger. */
	readonly place?: WorkerPlace | undefined;
	/**
	 * Of a worker on another machine: what it uses there, as measured last; `undefined` before the first time. The pool
	 * judges by it whether a silent worker works, and by its memory when it is replaced.
	 */
	usage?(): RemoteUsage | undefined;
	/**
	 * Present when the worker keeps calls that are sent to it while it runs one, and begins them one after the other, each
	 * after the answer before has left. Only with one call per worker.
	 */
	readonly ahead?: SendAhead | undefined;
	/**
	 * Runs one command.
	 *
	 * Settles only when the worker is done with it, also after an abort: the
	 * promise is what frees the slot. After `options.signal` aborts it should
	 * reject soon; a worker that does not finish within the pool's grace is
	 * replaced.
	 *
	 * @throws InputError when the call cannot work as made; ToolError when the tool failed; CallAbortedError after an abort.
	 */
	execute(
		command: string,
		args: unknown,
		options: CallOptions,
	): Promise<unknown>;
	/**
	 * Runs one command that answers with a stream. Takes no more from the worker
	 * than the consumer asked for, but for a bounded window. Closing the iterator
	 * cancels the call; `return()` settles when the worker is done with it. The value
	 * of the last step (`done: true`) is the stream's result, where the program has
	 * such a thing.
	 */
	stream?(
		command: string,
		args: unknown,
		options: CallOptions,
	): AsyncIterable<unknown>;
	/** Absent: the heartbeat uses process facts only. */
	ping?(signal: AbortSignal): Promise<PingReply>;
	/** Notifies the worker that a session has ended. */
	endSession?(sessionId: string): void;
	/** Gentlest rung of the stop ladder: asks the worker to end by itself. */
	leave?(signal: AbortSignal): Promise<void>;
}

/** What an adapter is given with one call. What a caller passes is `ExecuteOptions`. */
export interface CallOptions {
	/** Names the call in events and logs. */
	readonly callId: string;
	readonly signal: AbortSignal;
	/** The same as `signal`, for less: a listener of a signal costs more than the rest of a small call. Absent outside of a pool. */
	readonly cancellation?: Cancellation | undefined;
	/**
	 * The asynchronous context of the caller, in which `execute` and `stream` are called; for what runs later on behalf
	 * of the call, as its input or a function of this program that the command asks for.
	 */
	readonly context: Pick<AsyncResource, "runInAsyncScope">;
	/** What is left of the deadline, in milliseconds; `undefined` without one. */
	readonly timeoutMs: number | undefined;
	readonly sessionId: string | undefined;
	/** That session, for what arrives and makes calls of its own, as a reference to an object in the worker. Absent outside of a pool. */
	readonly session?: CallSession | undefined;
	/** Items that the command reads while it runs. An adapter that does not support them refuses the call: `InputError`, `NOT_OFFERED`. */
	readonly input: AsyncIterable<unknown> | Iterable<unknown> | undefined;
	/**
	 * To be called with each report of progress of the command; absent where the caller wants none. The pool drops what
	 * comes too often, and after the end. Resolves when it would deliver another report at once: a program that can be
	 * made to wait is asked for its newest one then.
	 */
	readonly onProgress?: ((progress: CallProgress) => Promise<void>) | undefined;
	/** W3C trace context and baggage headers; empty without telemetry. */
	readonly traceContext: Readonly<Record<string, string>> & {
		readonly [NOT_SAMPLED]?: true;
	};
	/** Takes what was measured in the worker; to be written before the call settles. Absent outside of a pool. */
	readonly measured?: MeasuredRun | undefined;
	/** To be called before the call settles, with how long ago the command began; absent where that is not needed. */
	readonly beganAgo?: ((ms: number) => void) | undefined;
	/** Runs what the command asks of this program while it runs, in the command's trace; absent without telemetry. */
	readonly backCall?: BackCallWrapper | undefined;
}

/** What a worker measured of a call. */
export interface MeasuredRun {
	/** How long the command ran, in milliseconds. */
	ranMs: number | undefined;
}

/** The session of a call. */
export interface CallSession {
	readonly id: string;
	readonly affinity: "hint" | "strict";
	/** Makes another call in it, as its users do. */
	execute(
		command: string,
		args: unknown,
		limits?: CallLimits,
	): Promise<unknown>;
	stream(
		command: string,
		args: unknown,
		limits?: CallLimits,
	): AsyncIterableIterator<unknown>;
}

/** When a call that follows from another one ends early. */
export interface CallLimits {
	readonly signal?: AbortSignal | undefined;
	/** Deadline, the wait in the queue included. */
	readonly timeoutMs?: number | undefined;
}

/** Whether a call shall end, and why. */
export interface Cancellation {
	readonly isRequested: boolean;
	/** Calls `action` with the reason when it is requested. One action per call. */
	whenRequested(action: (reason: unknown) => void): void;
}

/** A command asks this program to run one of its functions. */
export interface BackCall {
	readonly function: string;
	/** W3C trace context and baggage headers of where the command asks; empty when it sent none. */
	readonly traceContext: Readonly<Record<string, string>>;
}

/** Runs the function of a back-call and passes on its outcome. */
export type BackCallWrapper = <T>(
	backCall: BackCall,
	run: () => Promise<T>,
) => Promise<T>;

/** The answer to a ping. */
export interface PingReply {
	/** How many calls the worker believes it is running. */
	readonly callsRunning: number;
}
