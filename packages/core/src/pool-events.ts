import type { WorkerLogRecord } from "./adapter.ts";
import type { ErrorCode } from "./error-codes.ts";
import type { EndReason, Killer } from "./registry/process-registry.ts";
import type { WorkerPlace } from "./remote-worker.ts";
import type { ProcessExit } from "./world.ts";

/** In every event about one worker. */
export interface WorkerRef {
	readonly pool: string;
	/** Stable over incarnations. */
	readonly workerId: string;
	/** This one process. */
	readonly incarnation: string;
}

/** In every event about the control of an open pool. */
export interface ControlRef {
	readonly pool: string;
	/** Who asked for it. */
	readonly by: string;
}

/** Why a worker is replaced while it still works; `"requested"`: by `pool.recycle`. */
export type RecycleReason = "age" | "calls" | "resident_memory" | "requested";

/** Why a worker takes no new calls; `"resized"`: the pool has fewer workers from now on; `"leaving"`: it reported by itself that it leaves, because something outside of the pool stopped it; `"unconfirmed"`: a call was cancelled, and its adapter cannot know when the worker is done with it. */
export type RetireReason =
	| RecycleReason
	| "closed"
	| "idle"
	| "resized"
	| "leaving"
	| "unconfirmed";

/** Events of a pool, and of its workers, calls and sessions. */
export type PoolEvent =
	| {
			/** The minimum number of workers is ready. */
			readonly type: "pool.started";
			readonly pool: string;
			readonly adapter: string;
			readonly workers: number;
			readonly durationMs: number;
	  }
	| {
			/** The pool could not be started; everything that it had started was stopped. */
			readonly type: "pool.start_failed";
			readonly pool: string;
			readonly adapter: string;
			readonly error: Error;
	  }
	| {
			/** The pool accepts no more calls. */
			readonly type: "pool.closing";
			readonly pool: string;
			readonly drainMs: number;
	  }
	| {
			/** The pool is closed, and none of its processes is left. */
			readonly type: "pool.closed";
			readonly pool: string;
			readonly durationMs: number;
			/** Calls that were outstanding when the drain time was over. */
			readonly cutShort: number;
	  }
	// Control of an open pool; `by` says who asked for it.
	| (ControlRef & {
			/** The pool sends no calls to workers until it is resumed. */
			readonly type: "pool.paused";
			/** Calls that wait now. */
			readonly waiting: number;
			/** Calls that run, and go on. */
			readonly running: number;
	  })
	| (ControlRef & {
			/** The pool sends calls to workers again; `by` is `"close"` if closing resumed it. */
			readonly type: "pool.resumed";
	  })
	| (ControlRef & {
			/** The pool's number of workers was changed. */
			readonly type: "pool.resized";
			readonly min: number;
			readonly max: number;
			readonly before: { readonly min: number; readonly max: number };
	  })
	| (ControlRef & {
			/** A worker will be replaced, or all of them, one after the other. */
			readonly type: "pool.recycle_requested";
			/** The id of a worker, or `"all"`. */
			readonly target: string;
			readonly manner: "gentle" | "forced";
	  })
	| (ControlRef & {
			/** A worker will be killed and restarted, with a full restart budget. */
			readonly type: "pool.restart_requested";
			readonly workerId: string;
	  })
	| {
			/** These files changed, and every worker was replaced by one that has loaded them. */
			readonly type: "pool.reloaded";
			readonly pool: string;
			/** What changed, as the adapter names it. */
			readonly files: readonly string[];
			/** Until the last new worker was ready, in milliseconds; the old ones may still finish their calls. */
			readonly durationMs: number;
	  }
	| {
			/** Files changed, but no worker could be started with them. The old workers stay until the next change. */
			readonly type: "pool.reload_failed";
			readonly pool: string;
			readonly files: readonly string[];
			readonly error: Error;
	  }
	| {
			/** Workers exited too often; the pool waits before it starts another. */
			readonly type: "pool.restart_budget_spent";
			readonly pool: string;
			readonly restarts: number;
			readonly windowMs: number;
	  }
	| {
			/** A note from the adapter, such as which interpreter it chose and why. */
			readonly type: "pool.adapter_noted";
			readonly pool: string;
			readonly adapter: string;
			readonly note: string;
	  }
	// A preloaded parent, from which the workers of a pool are forked.
	| {
			/** A preloaded parent is ready to fork workers. */
			readonly type: "preload.started";
			readonly pool: string;
			readonly pid: number;
			/** From spawn to ready to fork, in milliseconds. */
			readonly durationMs: number;
			/** How often it was started before in this pool. */
			readonly restarts: number;
	  }
	| {
			/** The preloaded parent is gone: it was released with the pool, or lost together with its workers. */
			readonly type: "preload.ended";
			readonly pool: string;
			readonly pid: number;
			readonly exit: ProcessExit;
			/** `"lost"`: it ended while the pool runs on, and its workers with it; the next start has another. */
			readonly how: "released" | "lost";
	  }
	| {
			/** Workers cannot be forked, and are started one by one from now on; `reason` says why. */
			readonly type: "preload.unavailable";
			readonly pool: string;
			/** Why workers start by themselves from now on. */
			readonly code: ErrorCode;
			readonly reason: string;
	  }
	// A worker.
	| (WorkerRef & {
			/** A worker is about to be spawned. */
			readonly type: "worker.starting";
			readonly attempt: number;
			readonly replaces: string | undefined;
	  })
	| (WorkerRef & {
			/** The worker's process exists and is recorded. */
			readonly type: "worker.spawned";
			readonly pid: number;
			readonly source: string;
	  })
	| (WorkerRef & {
			/** The worker can take calls; `phases` has the duration of each phase of its start. */
			readonly type: "worker.ready";
			readonly pid: number;
			/** From the reservation to ready, and its parts, in milliseconds. */
			readonly durationMs: number;
			readonly phases: {
				readonly spawnMs: number;
				readonly launchMs: number;
				readonly connectMs: number;
			};
			/** What the program reported about itself. */
			readonly ready: unknown;
			/** The machine that it runs on, where that is another one. */
			readonly place?: WorkerPlace | undefined;
	  })
	| (WorkerRef & {
			/** The worker could not be made ready. */
			readonly type: "worker.start_failed";
			readonly error: Error;
	  })
	| (WorkerRef & {
			/** The worker takes no new calls, and is stopped when its last one has ended. */
			readonly type: "worker.retiring";
			readonly reason: RetireReason;
	  })
	| (WorkerRef & {
			/** The worker will be stopped now; `reason` says why. */
			readonly type: "worker.condemned";
			readonly reason: EndReason;
			readonly message: string;
	  })
	| (WorkerRef & {
			/**
			 * The worker's process is gone: its exit status, the reason, what killed it, the calls lost and its last lines of
			 * output.
			 */
			readonly type: "worker.exited";
			readonly pid: number | undefined;
			readonly exit: ProcessExit | undefined;
			readonly reason: EndReason;
			readonly killer: Killer;
			readonly callsLost: number;
			readonly lifetimeMs: number;
			/** Its last lines. */
			readonly tail: readonly string[];
	  })
	| (WorkerRef & {
			/** One rung of the stop ladder. */
			readonly type: "worker.stop_step";
			readonly step: "leave" | "terminate" | "kill" | "sweep";
			readonly sent: number;
	  })
	| (WorkerRef & {
			/**
			 * The worker's process is gone, but its group id is in use and nothing proves that those processes belonged to
			 * the worker, so they are left alone.
			 */
			readonly type: "worker.group_spared";
			/** The number of the worker's group. */
			readonly groupId: number;
			/** The living processes in the group of that number, none of them proven to be the worker's. */
			readonly pids: readonly number[];
	  })
	| (WorkerRef & {
			/** One line that the worker printed; `callId` is set if exactly one call was running. */
			readonly type: "worker.output";
			readonly stream: "stdout" | "stderr";
			/** Without its line break. One that is redrawn with carriage returns, as a progress bar is, is reported as it stands every 5 s while it changes, and as it stood last. */
			readonly line: string;
			/** It was longer than 16 KiB. */
			readonly cut: boolean;
			/** The call that ran on the worker when the host read the line; `undefined` when none did, or several. Output and answers travel apart: a line that was printed at the very end of a call may be read after it. */
			readonly callId: string | undefined;
	  })
	| (WorkerRef & {
			/** One record from the worker's own logging. */
			readonly type: "worker.logged";
			readonly record: WorkerLogRecord;
	  })
	| (WorkerRef & {
			/** The worker sent a notification of its protocol, which the adapter passes on. */
			readonly type: "worker.notified";
			/** Its name in that protocol. */
			readonly notification: string;
			readonly data: unknown;
	  })
	// The heartbeat.
	| (WorkerRef & {
			/** The worker was pinged. */
			readonly type: "heartbeat.sent";
			readonly sequence: number;
	  })
	| (WorkerRef & {
			/** The worker answered a ping after `latencyMs`. */
			readonly type: "heartbeat.answered";
			readonly sequence: number;
			readonly latencyMs: number;
	  })
	| (WorkerRef & {
			/** The worker did not answer a ping in time. */
			readonly type: "heartbeat.missed";
			readonly sequence: number;
			readonly missedInARow: number;
			/** How long its answer was waited for, at most. */
			readonly timeoutMs: number;
	  })
	| (WorkerRef & {
			/**
			 * The worker has been silent for long enough to count as hung, but it is using the processor, so it gets more
			 * time. Reported once per silence.
			 */
			readonly type: "heartbeat.busy";
			readonly silentMs: number;
			/** Processor time that was seen to be used in this silence; 0 where it waits for a device. */
			readonly cpuAdvancedMs: number;
	  })
	| (WorkerRef & {
			/** Missed pings may be the host's own fault, so the count starts again. */
			readonly type: "heartbeat.suspended";
			readonly reason: "host_lagged" | "clock_jumped" | "debugger";
	  })
	| (WorkerRef & {
			/** The worker is hung and will be replaced. */
			readonly type: "heartbeat.hung";
			/** `"idle"`: it did nothing for `heartbeat.hungAfterMs`. `"busy_limit"`: it worked for `heartbeat.busyLimitMs`. */
			readonly cause: "idle" | "busy_limit";
			readonly silentMs: number;
			readonly missedInARow: number;
	  });
