import type { Adapter } from "./adapter.ts";
import type { SnakepitListener } from "./events.ts";
import type { Instrument } from "./instrument.ts";
import type { Complete } from "./option-check.ts";
import type {
	CallsOptions,
	HeartbeatOptions,
	OutputOptions,
	QueueOptions,
	RecycleOptions,
	SessionsOptions,
	SizeOptions,
	StartOptions,
	StopOptions,
} from "./pool-option-groups.ts";

/** What listeners see of calls. */
export interface ObserveOptions {
	/**
	 * Returns what `call.settled` shows of a call's arguments, without anything secret. By default, events have no
	 * arguments. Called once per call, and only if something listens to that event.
	 */
	readonly args?: ((command: string, args: unknown) => unknown) | undefined;
}

/** The options of a pool, grouped by the phase that they affect. */
export interface PoolOptions<Client = unknown> {
	/** What to execute and how to communicate with it: `python()`, another adapter, or your own. */
	readonly adapter: Adapter<Client>;
	/**
	 * Appears in worker names, events and metrics. Use a name for one open pool only: of two with the same name, clients
	 * that inspect the program see the later one. By default the adapter's name, with a number (`python-2`) if another
	 * open pool has that name.
	 */
	readonly name?: string | undefined;
	/** How many workers there are. A number `n`, 1 or more, means `{ min: n, max: n }`. */
	readonly size?: number | SizeOptions | undefined;
	/** How many calls one worker may run at once. @default 1 */
	readonly callsPerWorker?: number | undefined;
	/** The start of a worker, and of the next one when it fails. */
	readonly start?: StartOptions | undefined;
	/** Calls that wait for a worker. */
	readonly queue?: QueueOptions | undefined;
	/** Calls that run: deadline, and the grace after a cancel. */
	readonly calls?: CallsOptions | undefined;
	/** Detection of hung workers. `"off"`: workers are not pinged, and a hung one is not detected. */
	readonly heartbeat?: HeartbeatOptions | "off" | undefined;
	/** Replacement of healthy workers by age, calls or memory. */
	readonly recycle?: RecycleOptions | undefined;
	/** Sessions: how long an idle one is kept, and how many may be open. */
	readonly sessions?: SessionsOptions | undefined;
	/** How much time calls and workers get when the pool closes. */
	readonly stop?: StopOptions | undefined;
	/** What happens to the lines that workers print. */
	readonly output?: OutputOptions | undefined;
	/** What listeners see of calls. */
	readonly observe?: ObserveOptions | undefined;
	/**
	 * Called with every event of the pool, including its start, and with the events of its run while the pool is open. All
	 * events of a run go to the `onEvent` of `openRun`. If it throws, the pool continues.
	 */
	readonly onEvent?: SnakepitListener | undefined;
	/** Observe the pool from within, as telemetry does. If one throws, the pool continues. */
	readonly instruments?: readonly Instrument[] | undefined;
}

/** With what follows from the options of the group, or is the same for every pool; tests set it directly. */
export interface ResolvedStart extends Complete<StartOptions> {
	/** How many workers may be starting at the same time. */
	readonly concurrency: number;
	/** The longest delay between two starts on one slot. */
	readonly maxBackoffMs: number;
	/** How long a restart counts against `maxRestarts`. */
	readonly restartWindowMs: number;
}

export interface ResolvedHeartbeat extends Complete<HeartbeatOptions> {
	/** How many pings in a row must go unanswered before a worker is hung. */
	readonly missedPings: number;
	/** How long one ping may take. */
	readonly pingTimeoutMs: number;
}

export interface ResolvedRecycle extends Complete<RecycleOptions> {
	/** How often age and memory are checked. */
	readonly checkIntervalMs: number;
}

export interface ResolvedOutput extends Complete<OutputOptions> {
	/** A longer line is cut. */
	readonly maxLineBytes: number;
	/** How many of the last lines are kept to explain a death. */
	readonly tailLines: number;
}

/** Options of a pool: complete, checked, frozen. */
export interface ResolvedOptions {
	readonly adapter: Adapter;
	readonly name: string;
	readonly size: {
		readonly min: number;
		readonly max: number;
		readonly idleMs: number;
	};
	readonly callsPerWorker: number;
	readonly start: ResolvedStart;
	readonly queue: Complete<QueueOptions>;
	readonly calls: Complete<CallsOptions>;
	/** Whether a call may set deadlines of its own. */
	readonly deadlinesOfCalls: "kept" | "ignored";
	readonly heartbeat: ResolvedHeartbeat | "off";
	readonly recycle: ResolvedRecycle;
	readonly sessions: Complete<SessionsOptions>;
	readonly stop: Complete<StopOptions>;
	readonly output: ResolvedOutput;
	readonly observe: ObserveOptions;
	readonly onEvent: SnakepitListener | undefined;
	readonly instruments: readonly Instrument[];
}
