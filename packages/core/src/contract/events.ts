import type { WorkerLocation } from "./connection.ts";
import type { ErrorCode, Ran } from "./error-codes.ts";
import type { RemoteError } from "./errors.ts";
import type { ProcessExit, RunId } from "./identity.ts";
import type { WorkerLogRecord } from "./launch.ts";
import type { EndReason, Killer, ProgramEnd } from "./process-registry.ts";
import type { CloseManner } from "./run-and-worker-states.ts";

/** Why the reaper left a process or a run alone. */
export type SparedReason =
	| "owner_alive"
	| "other_machine"
	| "other_pid_namespace"
	| "identity_unknown"
	| "claimed_by_another"
	| "unreadable"
	| "strategy"
	/** It is this process, or one that this process descends from. */
	| "own_ancestor"
	/** The system did not let us signal it: another user's, for example. */
	| "signal_refused"
	/** It was killed and was still there at the deadline: uninterruptible sleep. */
	| "survived_kill";

/** Events of a run: it begins, cleans up after dead runs, is audited and protected, ends. */
type RunEvent =
	| {
			/** This program has a run in the ledger of `dataDir`. */
			readonly type: "run.started";
			readonly runId: RunId;
			readonly dataDir: string;
	  }
	| {
			/** The run has ended. `clean`: its own program closed it. */
			readonly type: "run.ended";
			readonly runId: RunId;
			readonly clean: boolean;
	  }
	| {
			/** Snakepit searches the ledger for runs whose program has died, before it starts anything else. */
			readonly type: "cleanup.started";
			readonly runId: RunId;
	  }
	| {
			/** The search is over: how many runs and processes were found, killed and spared. */
			readonly type: "cleanup.finished";
			readonly runId: RunId;
			readonly durationMs: number;
			readonly deadRuns: number;
			readonly found: number;
			readonly killed: number;
			readonly spared: number;
	  }
	| {
			/** A run was found whose program has died. */
			readonly type: "run.found_dead";
			readonly ofRun: RunId;
			/** The name of that program; `undefined` where its ledger does not say. */
			readonly program: string | undefined;
			/** How it ended, as far as that can be found out; `undefined`: it recorded nothing, as after SIGKILL. */
			readonly end: ProgramEnd | undefined;
	  }
	| {
			/** A process that a dead run, or a dead worker of this run, left behind was killed. */
			readonly type: "orphan.reaped";
			readonly ofRun: RunId;
			/** The name of the program that left it; `undefined` where its ledger does not say. */
			readonly program: string | undefined;
			readonly pid: number;
			readonly how: "ended_on_term" | "killed";
			readonly foundBy: "ledger" | "marker" | "group" | "descent";
	  }
	| {
			/** A process was left alone; `reason` says why. */
			readonly type: "orphan.spared";
			readonly ofRun: RunId;
			readonly pid: number;
			readonly reason: SparedReason;
	  }
	| {
			/** A whole run was left alone; `reason` says why. */
			readonly type: "run.spared";
			readonly ofRun: RunId;
			readonly reason: SparedReason;
	  }
	| {
			/** Of a spared run of another machine: the pool's cluster knows on which machine its host is, and whether it is alive. */
			readonly type: "run.located";
			readonly ofRun: RunId;
			readonly location: WorkerLocation;
			/** `"gone"`: nothing of it takes part in the cluster any more. Its processes are ended by the next start on its own machine. */
			readonly owner: "alive" | "gone";
	  }
	| {
			/** A ledger file that cannot be read was renamed; its run is cleaned up by its marker. */
			readonly type: "registry.set_aside";
			readonly path: string;
			readonly reason: string;
	  }
	| {
			/** The usual place of the ledger cannot be used; it is at `path` instead. */
			readonly type: "registry.relocated";
			readonly path: string;
			readonly reason: string;
	  }
	| {
			/** The ledger cannot be written; the pool continues with its other layers of protection. */
			readonly type: "registry.degraded";
			readonly code: ErrorCode;
			readonly message: string;
			readonly unwritten: number;
	  }
	| {
			/** What could not be written before has now been written. */
			readonly type: "registry.recovered";
			readonly written: number;
	  }
	| {
			/**
			 * The ledger file or the lock of this living run was removed, replaced or damaged by something else.
			 * Reported once.
			 */
			readonly type: "registry.file_lost";
			readonly runId: RunId;
			readonly file: "ledger" | "lock";
			readonly path: string;
			/** `"damaged"`: it is the same file, and what was written is not in it any more. */
			readonly how: "removed" | "replaced" | "damaged";
	  }
	| {
			/**
			 * The file was recreated, and whatever had taken its name was set aside. A removed ledger is restored completely;
			 * a damaged one is restored as far as the host has its run and workers in memory.
			 */
			readonly type: "registry.file_renewed";
			readonly runId: RunId;
			readonly file: "ledger" | "lock";
			readonly path: string;
	  }
	| {
			/**
			 * A private directory of this living run cannot be used any more. Reported once. Workers that run keep what they
			 * have open.
			 */
			readonly type: "run.directory_lost";
			readonly runId: RunId;
			/** `"runtime"` has sockets and scratch files, `"shared_memory"` large values. */
			readonly directory: "runtime" | "shared_memory";
			readonly path: string;
			/** `"other_user"`: it belongs to another user, most often because this program has changed its own. */
			readonly how: "removed" | "replaced" | "other_user";
			/** Why it cannot be made again now; it is tried again at each start and each audit. `undefined`: it was. */
			readonly reason: string | undefined;
	  }
	| {
			/** The directory was made again, for workers that start from now on. */
			readonly type: "run.directory_renewed";
			readonly runId: RunId;
			readonly directory: "runtime" | "shared_memory";
			readonly path: string;
			/** The one that was lost. */
			readonly instead: string;
	  }
	| {
			/** The ledger was compared with the process table, and they differed. */
			readonly type: "registry.reconciled";
			readonly runId: RunId;
			/** Workers whose process was gone without a report of its end. */
			readonly vanished: number;
			/** Processes that belong to no worker and were found for the first time. */
			readonly strays: number;
			readonly unwritten: number;
	  }
	// The auditor: a process that carries the run's marker and belongs to none of its workers.
	| {
			/**
			 * A process carries the run's marker, but its worker has ended or is unknown. Reported once, after two audits in
			 * a row have seen it.
			 */
			readonly type: "audit.stray_found";
			readonly runId: RunId;
			readonly pid: number;
			/** Which worker its marker names as its ancestor. */
			readonly incarnation: string | undefined;
			/** The state of that worker in the registry. */
			readonly of: "ended" | "unknown";
			readonly name: string;
	  }
	| {
			/** A stray was killed; only with `audit.strays: "killed"`. */
			readonly type: "audit.stray_killed";
			readonly runId: RunId;
			readonly pid: number;
			readonly incarnation: string | undefined;
			readonly how: "ended_on_term" | "killed";
	  }
	| {
			/** A stray could not be killed; `reason` says why. */
			readonly type: "audit.stray_spared";
			readonly runId: RunId;
			readonly pid: number;
			readonly incarnation: string | undefined;
			readonly reason: SparedReason;
	  }
	| {
			/** The process table could not be read; the next audit tries again. */
			readonly type: "audit.failed";
			readonly runId: RunId;
			/** What the system answered; all is tried again at the next look. */
			readonly reason: string;
	  }
	// A protection: something outside of the host that ends workers when the host cannot.
	| {
			/** A protection is active. */
			readonly type: "protection.started";
			readonly protection: string;
			readonly pid: number;
			/** From spawn to at work, in milliseconds. */
			readonly durationMs: number;
			/** How often it was started before in this run. */
			readonly restarts: number;
	  }
	| {
			/** A protection's process is gone: it was released with the run, or it was lost and will be restarted. With a guard, its workers are lost. */
			readonly type: "protection.ended";
			readonly protection: string;
			readonly pid: number;
			readonly exit: ProcessExit | undefined;
			/** `"lost"`: it ended while the run continues, and is started again. */
			readonly how: "released" | "lost";
			/** Of a guard that was lost: which of its processes was, and how, as a part of a sentence. */
			readonly loss?: string | undefined;
	  }
	| {
			/** A protection cannot work here, or not any more; `reason` says why. */
			readonly type: "protection.unavailable";
			readonly protection: string;
			readonly reason: string;
	  }
	// Control of the run from another process.
	| {
			/** A client requested a change to a pool, or a call. */
			readonly type: "control.requested";
			readonly runId: RunId;
			readonly pool: string;
			/** The act, as `"recycle"`; or `"call"`. */
			readonly act: string;
			/** The worker that it is about, or the command of the call; `undefined` for a whole pool. */
			readonly target: string | undefined;
			/** Who asked: the name that the client says, its pid, and the user of that process: `snakepit pause (pid 4711, user ann)`. */
			readonly by: string;
	  }
	| {
			/** Clients cannot attach to the run; `reason` says why. The run continues. */
			readonly type: "control.unavailable";
			readonly runId: RunId;
			readonly reason: string;
	  }
	// What a protection saw and did while no host lived, reported by the next start with the time at which it happened.
	| {
			/** A protection noticed that its host had died. Reported by the next start, with the original time. */
			readonly type: "protection.host_death_detected";
			readonly protection: string;
			readonly ofRun: RunId;
			/** The protection's own process; `undefined` when it did not write that down. */
			readonly pid: number | undefined;
			/** From the first sign of the death, the end of the pipe, until the process table agreed; a guard does not report it: its first sign is the death itself. */
			readonly detectionMs?: number | undefined;
	  }
	| {
			/** A protection killed a process after its host had died. Reported by the next start. */
			readonly type: "protection.process_killed";
			readonly protection: string;
			readonly ofRun: RunId;
			readonly pid: number;
			/** With the pid, this process and no other; `undefined` when it was not written down. */
			readonly startTime: string | undefined;
			/** Which worker it was, or descends from; `undefined` when that is not known. */
			readonly incarnation: string | undefined;
			/** `"reported"`: its host had reported it to the protection while it lived. */
			readonly foundBy: "reported" | "ledger" | "group" | "marker" | "descent";
			/** The last that the protection sent it; `undefined` when that was not written down. */
			readonly signal: "SIGTERM" | "SIGKILL" | undefined;
	  }
	| {
			/** A protection recorded the end of the run after its host had died. Reported by the next start. */
			readonly type: "protection.run_settled";
			readonly protection: string;
			readonly ofRun: RunId;
			readonly killed: number;
			/** From the death of the host to the last process gone, in milliseconds. */
			readonly durationMs: number;
	  };

/** In every event about the control of an open pool. */
interface ControlRef {
	readonly pool: string;
	/** Who asked for it. */
	readonly by: string;
}

/** Events of a pool, of its control, and of its preloaded parent. */
type PoolEvent =
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
			/** `"gentle"` lets calls end and asks workers to leave, `"forced"` kills immediately. */
			readonly manner: CloseManner;
			/** Who asked for it, as in the events of its control; or `"a signal"`, or `"the end of the program"`. */
			readonly by: string;
	  }
	| (ControlRef & {
			/** The pool closes sooner than it would have: a further close kills what the first one waits for, or waits less. */
			readonly type: "pool.close_hurried";
			readonly manner: CloseManner;
			/** With `"gentle"`: how long its calls may still take, in milliseconds; else 0. */
			readonly drainMs: number;
	  })
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
type WorkerEvent =
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
			readonly location?: WorkerLocation | undefined;
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

/** Events of the companion of a pool, which its workers need. */
type CompanionEvent =
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

/** In every event about one call. */
export interface CallRef {
	readonly pool: string;
	readonly callId: string;
	readonly command: string;
}

/** How a call ended for its caller. */
export type CallOutcome = "succeeded" | "failed" | "aborted" | "timed_out";

/** One attempt of a call, when its call has ended. */
export interface AttemptDetails {
	readonly workerId: string;
	readonly incarnation: string;
	/** How long the call waited for a worker before this attempt, without pauses. */
	readonly waitedMs: number;
	/** How long the attempt ran, at most until the call ended. */
	readonly ranMs: number;
	/** The code of the error that ended it; `undefined` if it succeeded. */
	readonly code: ErrorCode | undefined;
	/** The pause before the next attempt; `undefined` for the last one. */
	readonly pauseMs: number | undefined;
}

/** Events of calls and of sessions. */
type CallEvent =
	// A call: taken and settled, and within that each attempt on a worker.
	| (CallRef & {
			/** The pool accepted a call. */ readonly type: "call.accepted";
			readonly queued: number;
	  })
	| (CallRef &
			WorkerRef & {
				/**
				 * An attempt begins on a worker, as far as the host knows. For a prefetched call, this is when the previous
				 * answer has arrived. If it turns out that the worker did not begin it, the attempt is released with `ranMs: 0`,
				 * and the call is dispatched again with the same `attempt`.
				 */
				readonly type: "call.dispatched";
				readonly attempt: number;
				readonly waitedMs: number;
			})
	| (CallRef &
			WorkerRef & {
				/** The attempt has ended, or did not begin, and its slot on the worker is free. */
				readonly type: "call.released";
				readonly attempt: number;
				readonly ranMs: number;
			})
	| (CallRef & {
			/** The call will be attempted again, after a pause. */
			readonly type: "call.retried";
			/** The attempt that failed. */
			readonly attempt: number;
			readonly because: ErrorCode;
			readonly pauseMs: number;
	  })
	| (CallRef & {
			/** The caller has the call's result or error. */
			readonly type: "call.settled";
			readonly outcome: CallOutcome;
			/** The code of its error. Like `message` and `ran`, `undefined` if the call succeeded. */
			readonly code: ErrorCode | undefined;
			readonly message: string | undefined;
			/** Whether it may have begun. */
			readonly ran: Ran | undefined;
			/** What a failed command reported, such as the error's type and traceback. */
			readonly remote: RemoteError | undefined;
			/** What `observe.args` returned of its arguments; `undefined` without it. */
			readonly args?: unknown;
			readonly attempts: number;
			/** Its last attempts, at most 20; empty if no worker took the call. */
			readonly attemptDetails: readonly AttemptDetails[];
			/** The trace that the call's span belongs to, or that its caller's `traceparent` names. */
			readonly traceId: string | undefined;
			readonly totalMs: number;
	  })
	// A session.
	| {
			/** A session was opened. */
			readonly type: "session.started";
			readonly pool: string;
			readonly sessionId: string;
	  }
	| {
			/** A session was closed, expired, or was lost with its worker. */
			readonly type: "session.ended";
			readonly pool: string;
			readonly sessionId: string;
			readonly reason: "closed" | "expired" | "lost";
	  };

/** In every event about one job. */
export interface JobRef {
	/** Names the job, and its process in the ledger: `runId-number`. */
	readonly jobId: string;
	/** What is executed, without its arguments: they may be private. */
	readonly program: string;
}

/** Events of jobs. */
type JobEvent =
	| (JobRef & {
			/** The run accepted a job. */
			readonly type: "job.accepted";
			/** How many jobs wait now, with this one if it has to. */
			readonly waiting: number;
	  })
	| (JobRef & {
			/** The job's process exists and is recorded. */
			readonly type: "job.started";
			readonly pid: number;
			/** Who forked it. */
			readonly source: string;
			/** How long it waited for its turn, in milliseconds. */
			readonly waitedMs: number;
	  })
	| (JobRef & {
			/** The job has ended, and none of its process group is left. */
			readonly type: "job.settled";
			readonly outcome: CallOutcome;
			readonly code: ErrorCode | undefined;
			/** `undefined` when it never had a process, or its process was sent SIGKILL and cannot die. */
			readonly exit: ProcessExit | undefined;
			readonly killer: Killer;
			/** From its process to its end, in milliseconds; 0 when it never had one. */
			readonly ranMs: number;
			/** Processes in its group that nothing proved to be of it: they were left alone. */
			readonly spared: readonly number[];
			/** The last lines of its standard error. */
			readonly tail: readonly string[];
	  });

/** In every event: when it happened. */
interface EventTime {
	/** Milliseconds since the Unix epoch. */
	readonly wallMs: number;
}

/** What keeps an instrument from its work. */
export interface InstrumentProblem {
	/** Stable, for programs: `"sdk_registered_late"`, `"exporter_failed"`. */
	readonly reason: string;
	/** What is lost, and why. */
	readonly message: string;
	/** What to do about it. */
	readonly remedy: string;
}

/** Events of the host program itself. */
type HostEvent =
	| {
			/** The program got SIGINT, SIGTERM or SIGHUP. `forced`: it is the second signal. */
			readonly type: "host.signal_received";
			readonly signal: NodeJS.Signals;
			readonly forced: boolean;
			/** What follows: the pools close, are killed, or stay open for now (`"wait"`) or for good (`"ignore"`). */
			readonly answer: "close" | "kill" | "wait" | "ignore";
			/** With `"wait"`: how long the program has to end by itself, in milliseconds; else 0. */
			readonly graceMs: number;
	  }
	| {
			/**
			 * The program listens to the signal itself and has not ended within `signalGraceMs`: its pools
			 * close, then it ends by the signal.
			 */
			readonly type: "host.grace_spent";
			readonly signal: NodeJS.Signals;
			readonly graceMs: number;
			/** How many listeners of the program did not end it. */
			readonly otherListeners: number;
	  }
	| {
			/**
			 * The program did not run for at least two seconds, and goes on: calls, and what workers sent, waited. `wallMs` is
			 * when it was over.
			 */
			readonly type: "host.stood_still";
			/**
			 * `"stopped"`: by SIGSTOP or Ctrl-Z, until SIGCONT. `"suspended"`: its machine was. `"blocked"`: its event loop did
			 * not turn: code of the program held it, or the system did not let it run.
			 */
			readonly kind: "stopped" | "suspended" | "blocked";
			/** When it began, in milliseconds since the Unix epoch; it may be up to a second earlier. */
			readonly sinceWallMs: number;
			readonly durationMs: number;
			/** How long the program used the processor meanwhile, in milliseconds. */
			readonly processorMs: number;
	  }
	| ({
			/**
			 * Telemetry does not reach the registered SDK, or the SDK of this program or of a worker cannot export it; `reason`
			 * and `remedy` say why and what to do. Reported once for each reason.
			 */
			readonly type: "telemetry.misconfigured";
	  } & InstrumentProblem)
	| {
			/** A callback of the program, such as a listener, threw or did not answer in time; `of` names it. The pool and other listeners continue. */
			readonly type: "listener.threw";
			readonly of: string;
			readonly error: unknown;
	  };

/**
 * What happened, as `pool.on()` and `onEvent` receive it: `type` names it, `wallMs` is when, and the fields beside them
 * depend on the type. A closed union of facts in the past tense, so a `switch` on `type` knows the fields of each; what
 * lasts has one start and exactly one end. docs/reference/events.md lists all.
 */
export type SnakepitEvent = EventTime &
	(
		| RunEvent
		| PoolEvent
		| WorkerEvent
		| CompanionEvent
		| CallEvent
		| JobEvent
		| HostEvent
	);

/** The name of an event, such as `"worker.ready"`. */
export type SnakepitEventType = SnakepitEvent["type"];
/** The event of one type. */
export type EventOf<Type extends SnakepitEventType> = Extract<
	SnakepitEvent,
	{ readonly type: Type }
>;

/** Is called with every event. One that throws cannot hurt the pool. */
export interface SnakepitListener {
	(event: SnakepitEvent): void;
	/**
	 * Events that it shows to people. Core writes none of these to standard error
	 * then (`output.echo`), as it does by default for events that no listener shows.
	 */
	readonly shows?: readonly SnakepitEventType[] | undefined;
	/** As {@link PoolInstrument.environment}, for a listener that follows jobs. */
	readonly environment?:
		| ((incarnation: string) => Readonly<Record<string, string>>)
		| undefined;
	/** As {@link PoolInstrument.unobserved}, for a listener that follows jobs. */
	readonly unobserved?: (<T>(run: () => T) => T) | undefined;
}
