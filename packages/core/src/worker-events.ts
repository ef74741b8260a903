import type { WorkerLogRecord } from "./adapter.ts";
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

/** Why a worker is replaced while it still works; `"cancels"`: its last calls all ended by their deadline or a cancel (`recycle.afterCancels`); `"requested"`: by `pool.recycle`. */
export type RecycleReason =
	| "age"
	| "calls"
	| "resident_memory"
	| "cancels"
	| "requested";

/** Why a worker takes no new calls; `"resized"`: the pool has fewer workers from now on; `"leaving"`: it reported by itself that it leaves, because something outside of the pool stopped it; `"unconfirmed"`: a call was cancelled, and its adapter cannot know when the worker is done with it. */
export type RetireReason =
	| RecycleReason
	| "closed"
	| "idle"
	| "resized"
	| "leaving"
	| "unconfirmed";

/** Events of a worker, and of its heartbeat. */
export type WorkerEvent =
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
