import type { ErrorCode } from "./error-codes.ts";
import type { ProcessExit } from "./world.ts";

/** In every event about the control of an open pool. */
export interface ControlRef {
	readonly pool: string;
	/** Who asked for it. */
	readonly by: string;
}

/** Events of a pool, of its control, and of its preloaded parent. */
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
	  };
