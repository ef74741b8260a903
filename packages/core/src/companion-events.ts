import type { ErrorCode } from "./error-codes.ts";
import type { ProcessExit } from "./world.ts";

/** Events of the companion of a pool, which its workers need. */
export type CompanionEvent =
	| {
			/** The pool's companion is ready: workers can be started. */
			readonly type: "companion.started";
			readonly pool: string;
			readonly pid: number;
			/** Until it was ready, in milliseconds. */
			readonly durationMs: number;
			/** How often it was started before in this pool. */
			readonly restarts: number;
	  }
	| {
			/** The companion is gone: it was released with the pool, or lost together with its workers. */
			readonly type: "companion.ended";
			readonly pool: string;
			readonly pid: number;
			readonly exit: ProcessExit;
			/** `"lost"`: it ended while the pool runs on; another one is started. */
			readonly how: "released" | "lost";
	  }
	| {
			/** A lost companion could not be restarted. Calls wait, and Snakepit tries again after an increasing pause. */
			readonly type: "companion.unavailable";
			readonly pool: string;
			readonly code: ErrorCode;
			readonly reason: string;
			/** How many starts in a row have failed. From the third on, calls that wait fail with this reason. */
			readonly failures: number;
	  };
