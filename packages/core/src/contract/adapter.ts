import type { Connection, LocatedRun } from "./connection.ts";
import type {
	CompanionSlot,
	LaunchSpec,
	PreloadSlot,
	WorkerCompanion,
	WorkerProcess,
	WorkerSlot,
} from "./launch.ts";
import type { LayerReport } from "./protection.ts";

/**
 * What to start, and how to communicate with it. The pool owns the process and the adapter owns the connection: an
 * adapter cannot kill a process.
 *
 * @typeParam Client the client of its connections, for `pool.use`.
 */
export interface Adapter<Client = unknown> {
	/** Stable and lower case, for example `python`; appears in events. 1 to 40 letters, digits, dots, dashes or underscores. */
	readonly name: string;
	/**
	 * Whether its workers may stop in a debugger. Its pools then have one worker with one call at a time, whatever their
	 * options say, no heartbeat, and no deadlines for starts, calls, cancels and stops.
	 */
	readonly debugged?: boolean | undefined;
	/** Called once per pool before anything is started, for example to build an environment. Side effects are allowed. */
	prepare?(signal: AbortSignal): Promise<void>;
	/**
	 * Describes the commands of the workers, while one of them is connected: for people, and for programs that create forms
	 * or tool lists from it.
	 */
	describe?(signal: AbortSignal): Promise<readonly CommandDescription[]>;
	/** For `doctor`: checks whether its workers can start on this machine, and what slows them down. Leaves nothing behind. */
	inspect?(): Promise<LayerReport>;
	/**
	 * For `sharedPool`: the options that it was made from. If they are equal, the pool is kept when its module is loaded
	 * again. By default its own fields are compared, and functions always differ.
	 */
	readonly madeFrom?: unknown;
	/** Takes over the host's functions from an adapter with equal {@link madeFrom}, which a reloaded module created. */
	adopt?(next: Adapter): void;
	/** Findings of `prepare`, reported as events, for example which interpreter was chosen, and why. */
	notes?(): readonly string[];
	/**
	 * For a program that may change while it runs, such as source files. Called once when the pool is open. Returns a
	 * function that is called when the pool begins to close.
	 */
	watch?(pool: ReloadablePool): () => void;
	/**
	 * Returns what to execute for one slot. It is called for every start, so work that is done once belongs in `prepare`.
	 * A promise must settle within `start.timeoutMs`.
	 *
	 * @param signal aborts when the start fails, here or later, or when the pool closes meanwhile: release what you have
	 *   reserved for this worker.
	 */
	launch(
		slot: WorkerSlot,
		signal: AbortSignal,
	): LaunchSpec | Promise<LaunchSpec>;
	/**
	 * Called each time the program of {@link launch} has been started. Load code that only `connect` needs here, while the
	 * program starts up: loading it in `launch` would delay the program.
	 */
	spawned?(): void;
	/**
	 * Returns what to execute as the preloaded parent of a pool: a process that has imported what all workers need, and
	 * forks each worker that {@link launch} describes (docs/bridge-protocol.md, section 6). If it is absent or returns
	 * `undefined`, each worker is started separately. It must be pure: it is called for every start of a parent.
	 */
	preload?(slot: PreloadSlot): LaunchSpec | undefined;
	/**
	 * Returns what to execute as the companion of a pool: one process that its workers need, such as the client of a
	 * cluster. The pool starts it before the workers, records it as it records them, and ends it after them. If it is lost,
	 * the pool ends its workers, without using the restart budget, and starts a new companion after an increasing pause;
	 * calls wait meanwhile. A worker that exits because it lost its companion uses status 70. Called for every start.
	 *
	 * @param signal aborts when the pool closes meanwhile.
	 */
	companion?(
		slot: CompanionSlot,
		signal: AbortSignal,
	): LaunchSpec | Promise<LaunchSpec>;
	/** What the first companion of a pool found out about `runsElsewhere`, without runs that its cluster does not know. */
	located?(companion: WorkerCompanion): readonly LocatedRun[];
	/**
	 * Connects to the worker; resolves when it can take calls. The signal aborts if the start takes too long or the
	 * process ends.
	 */
	connect(
		process: WorkerProcess,
		signal: AbortSignal,
	): Promise<Connection<Client>>;
}

/** A pool whose workers can be replaced because their program changed. */
export interface ReloadablePool {
	/**
	 * Replaces every worker, one at a time, by one with the current program. The new worker is ready before the old one
	 * finishes its calls and leaves. Workers that could not be started before are tried again. Never rejects.
	 *
	 * @param files the changed files, for people.
	 * @param parent `"renewed"` if the preloaded parent has loaded the program, too.
	 * @returns why a worker could not be started; the old ones then stay.
	 */
	reload(
		files: readonly string[],
		parent: "kept" | "renewed",
	): Promise<Error | undefined>;
	/** Calls `action` once after `ms` milliseconds; does not keep the program running. */
	after(ms: number, action: () => void): { cancel(): void };
}

/** One command of a worker. */
export interface CommandDescription {
	readonly name: string;
	readonly description: string;
	/** JSON Schema of the arguments. */
	readonly argumentsSchema: unknown;
	/** `"unary"`: one result, for `execute`; `"stream"`: items, for `stream`. Absent if it is not known. */
	readonly shape?: "unary" | "stream" | undefined;
	/** The most calls that a worker runs as one batch; absent if each call runs separately. */
	readonly batchMax?: number | undefined;
}
