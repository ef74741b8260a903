import type { Adapter } from "../contract/adapter.ts";
import type { SnakepitListener } from "../contract/events.ts";
import type { Instrument } from "../contract/instrument.ts";
import { type Complete, milliseconds, oneOf, wholeNumber } from "./check.ts";
import type { Defaults } from "./groups.ts";

/** What listeners, the ledger of failed calls and the spans of failed calls see of calls. */
export interface ObserveOptions {
	/**
	 * Returns what `call.settled`, the ledger's record of a failed call, its span, and those who look at a running call
	 * (`snakepit inspect`) see of a call's arguments, without anything secret. By default, they have no arguments. Called
	 * at most once per call: if something listens to that event, the call failed and is recorded or traced, or somebody
	 * looks at it while it runs.
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
	/** How many calls one worker may run concurrently. @default 1 */
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
	/** What listeners, the ledger of failed calls and the spans of failed calls see of calls. */
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

/** How many workers there are. */
export interface SizeOptions {
	/** Kept ready at all times. @default 1 */
	readonly min?: number | undefined;
	/**
	 * Upper limit: workers above `min` are started on demand and retired when idle; by default as many as there are
	 * processors that this program may use, and not fewer than `min`.
	 */
	readonly max?: number | undefined;
	/** How long a worker above `min` may be idle before it is retired; the pool looks at least every 5 s. @default 60 000 ms (1 min) */
	readonly idleMs?: number | undefined;
}

export const SIZE_DEFAULTS: Defaults<SizeOptions, "max"> = {
	min: {
		value: 1,
		check: wholeNumber(0, 10_000),
		reason:
			"a worker is expensive: one is kept ready, and more are started on demand",
	},
	max: {
		value: undefined,
		check: wholeNumber(1, 10_000),
		reason: "more computing workers than processors only slow each other down",
	},
	idleMs: {
		value: 60_000,
		check: milliseconds(0),
		reason: "a short pause between requests does not cost another start",
	},
};

/** The other options that are in no group have no default here. */
export const POOL_DEFAULTS: Defaults<Pick<PoolOptions, "callsPerWorker">> = {
	callsPerWorker: {
		value: 1,
		check: wholeNumber(1, 10_000),
		reason:
			"most tools hold the interpreter's lock and are not written for concurrent calls",
	},
};

/** The start of a worker. */
export interface StartOptions {
	/** From spawn to ready. @default 60 000 ms (1 min) */
	readonly timeoutMs?: number | undefined;
	/** Delay before the second start in a row on one slot; doubles each time, up to 50 times as long. The first restart is immediate. @default 200 ms */
	readonly backoffMs?: number | undefined;
	/** How many restarts the pool allows itself within a minute; past it, it reports `pool.restart_budget_spent` and waits. @default 20 */
	readonly maxRestarts?: number | undefined;
}

export const START_DEFAULTS: Defaults<StartOptions> = {
	timeoutMs: {
		value: 60_000,
		check: milliseconds(1),
		reason:
			"importing a large framework from a cold disk takes tens of seconds",
	},
	backoffMs: {
		value: 200,
		check: milliseconds(0),
		reason:
			"a start costs about as much, so failing starts use at most half of one processor",
	},
	maxRestarts: {
		value: 20,
		check: wholeNumber(0, 1_000_000),
		reason:
			"rare crashes heal indefinitely, and a crash loop is detected within a minute",
	},
};

/** Calls that wait for a worker. */
export interface QueueOptions {
	/** Calls that may wait; one more is refused as `QUEUE_FULL`. @default 1 000 */
	readonly limit?: number | undefined;
	/** How long a call may wait, unless its own options set it. @default no bound */
	readonly timeoutMs?: number | undefined;
}

export const QUEUE_DEFAULTS: Defaults<QueueOptions> = {
	limit: {
		value: 1_000,
		check: wholeNumber(0),
		reason: "it slows a server's clients down before memory runs out",
	},
	timeoutMs: {
		value: Number.POSITIVE_INFINITY,
		check: milliseconds(0),
		reason: "the call's own deadline already includes the wait",
	},
};

/** Calls that run. */
export interface CallsOptions {
	/** Deadline of a call, including its time in the queue, unless its own options set one. @default no bound */
	readonly timeoutMs?: number | undefined;
	/** How long a worker may take to finish a call after a cancel, before it is replaced. @default 2 000 ms */
	readonly cancelGraceMs?: number | undefined;
}

export const CALLS_DEFAULTS: Defaults<CallsOptions> = {
	timeoutMs: {
		value: Number.POSITIVE_INFINITY,
		check: milliseconds(1),
		reason: "only the caller knows how long its work may take",
	},
	cancelGraceMs: {
		value: 2_000,
		check: milliseconds(1),
		reason:
			"much longer than a tool that responds to a cancel needs, and a stuck worker is replaced soon",
	},
};

/** Detection of hung workers. */
export interface HeartbeatOptions {
	/** Time between pings, and the time allowed for an answer. @default 2 000 ms */
	readonly intervalMs?: number | undefined;
	/**
	 * A worker is hung when its last answer is older than this, three pings in a row were not answered, *and* it has used
	 * no processor time for that long. A worker that uses processor time is busy, not hung, for however long.
	 * @default 10 000 ms
	 */
	readonly hungAfterMs?: number | undefined;
	/**
	 * How long a worker may compute without answering pings before it counts as hung; at least `hungAfterMs`.
	 * @default no bound
	 */
	readonly busyLimitMs?: number | undefined;
}

export const HEARTBEAT_DEFAULTS: Defaults<HeartbeatOptions> = {
	intervalMs: {
		value: 2_000,
		check: milliseconds(10),
		reason: "five pings before `hungAfterMs` has passed",
	},
	hungAfterMs: {
		value: 10_000,
		check: milliseconds(10),
		reason:
			"only code that holds the interpreter's lock for this long keeps a worker from answering, and a worker that is idle for this long is stuck",
	},
	busyLimitMs: {
		value: Number.POSITIVE_INFINITY,
		check: milliseconds(1),
		reason: "off: only the program knows how long its work may take",
	},
};

/** Replacement of healthy workers. */
export interface RecycleOptions {
	/**
	 * `"start_first"`: the replacement is ready before the old worker is asked to leave. `"stop_first"`: it is started when
	 * the old one is gone, for a program that has something to itself, such as a data directory; calls wait meanwhile.
	 * @default "start_first"
	 */
	readonly order?: "start_first" | "stop_first" | undefined;
	/** Age of a worker, counted from when it was ready. @default no bound */
	readonly afterMs?: number | undefined;
	/** How many calls a worker has run. @default no bound */
	readonly afterCalls?: number | undefined;
	/** Resident memory of the worker's whole process group. @default no bound */
	readonly aboveResidentBytes?: number | undefined;
	/**
	 * How many calls in a row may end by their deadline or a cancel after they began, with none that was answered
	 * meanwhile: something in the worker may keep every call from its end. A successor may have twice as many as the
	 * worker that it replaces, until one of its calls is answered, since it may be the calls that take too long. With
	 * `Infinity`, no worker is replaced for it.
	 * @default 8
	 */
	readonly afterCancels?: number | undefined;
}

export const RECYCLE_DEFAULTS: Defaults<RecycleOptions> = {
	order: {
		value: "start_first",
		check: oneOf("start_first", "stop_first"),
		reason: "no call waits for a replacement",
	},
	afterMs: {
		value: Number.POSITIVE_INFINITY,
		check: milliseconds(1),
		reason: "off: only leaking tools need it",
	},
	afterCalls: {
		value: Number.POSITIVE_INFINITY,
		check: wholeNumber(1),
		reason: "off: only leaking tools need it",
	},
	aboveResidentBytes: {
		value: Number.POSITIVE_INFINITY,
		check: wholeNumber(1),
		reason: "off: only leaking tools need it",
	},
	afterCancels: {
		value: 8,
		check: (value) =>
			value === Number.POSITIVE_INFINITY
				? undefined
				: wholeNumber(1)(value)?.concat(", or Infinity"),
		reason:
			"by chance a healthy worker, half of whose calls are cancelled, comes to as many once in 500 calls, and a stuck one takes the deadlines of 8 calls",
	},
};

/** Calls that share state in one worker: `pool.session()`. */
export interface SessionsOptions {
	/** A session that is unused for this long is closed. @default 3 600 000 ms (1 h) */
	readonly ttlMs?: number | undefined;
}

export const SESSIONS_DEFAULTS: Defaults<SessionsOptions> = {
	ttlMs: {
		value: 3_600_000,
		check: milliseconds(1),
		reason: "one hour: longer than a person's break",
	},
};

/** The end of a worker. */
export interface StopOptions {
	/** How long `close()` waits for calls that run or wait. @default 30 000 ms */
	readonly drainMs?: number | undefined;
	/** How long a worker may take to exit before it is killed. @default 5 000 ms */
	readonly killAfterMs?: number | undefined;
	/**
	 * The signal that asks a worker to exit, unless its adapter can ask it otherwise. SIGKILL follows after `killAfterMs`,
	 * always to the whole process group.
	 * @default "SIGTERM"
	 */
	readonly signal?:
		| "SIGTERM"
		| "SIGINT"
		| "SIGQUIT"
		| "SIGHUP"
		| "SIGUSR1"
		| "SIGUSR2"
		| "SIGWINCH"
		| undefined;
	/**
	 * Whom the signal is sent to. `"leader"`: the worker's process, which ends its own children; if the signal kills it, as
	 * it kills a shell, the processes that are left in its group get the signal then. `"group"`: all of them at once.
	 * @default "leader"
	 */
	readonly to?: "leader" | "group" | undefined;
}

export const STOP_DEFAULTS: Defaults<StopOptions> = {
	drainMs: {
		value: 30_000,
		check: milliseconds(0),
		reason:
			"applies to `close()`; when a signal ends the program, a pool has 2 s",
	},
	killAfterMs: {
		value: 5_000,
		check: milliseconds(0),
		reason: "time to run shut-down hooks",
	},
	signal: {
		value: "SIGTERM",
		check: oneOf(
			...(["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP"] as const),
			...(["SIGUSR1", "SIGUSR2", "SIGWINCH"] as const),
		),
		reason: "what most programs take for an orderly end; postgres needs SIGINT",
	},
	to: {
		value: "leader",
		check: oneOf("leader", "group"),
		reason:
			"a server whose children get the signal too loses them before it has ended them in order",
	},
};

/** What workers print. */
export interface OutputOptions {
	/**
	 * Whether the host's standard error shows what workers print, with the worker's name, their crashes, and their log
	 * records from WARNING on (unless the tools have a handler of their own). Events with a listener for their type, such
	 * as `pool.on("worker.logged", …)` or one that names them in `shows`, are not shown.
	 * @default "stderr"
	 */
	readonly echo?: "stderr" | "none" | undefined;
}

export const OUTPUT_DEFAULTS: Defaults<OutputOptions> = {
	echo: {
		value: "stderr",
		check: oneOf("stderr", "none"),
		reason:
			"shows what a tool prints and logs, and why it crashed, without any setup",
	},
};
