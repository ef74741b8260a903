import type { Connection } from "./connection.ts";
import type {
	CompanionPlace,
	LaunchSpec,
	PreloadPlace,
	SlotCompanion,
} from "./launch-spec.ts";
import type { LayerReport } from "./protection.ts";
import type { LocatedRun } from "./remote-worker.ts";
import type { WorkerProcess, WorkerSlot } from "./worker-process.ts";

export { brandAs } from "./brand.ts";
export { callAborted } from "./call-aborted.ts";
export type {
	BackCall,
	BackCallWrapper,
	CallLimits,
	CallOptions,
	CallSession,
	Cancellation,
	MeasuredRun,
} from "./call-options.ts";
export type { CallProgress } from "./call-progress.ts";
export {
	type Connection,
	NOT_BEGUN,
	type PingReply,
	type SendAhead,
} from "./connection.ts";
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
