import type { WorkerLogRecord } from "./adapter.ts";
import type { ErrorCode } from "./errors.ts";
import type { EndReason, Killer } from "./registry/process-registry.ts";
import type { RunId } from "./run-id.ts";
import type { ProcessExit } from "./world.ts";

/** In every event: when it happened. */
export interface EventTime {
	/** Milliseconds since the Unix epoch. */
	readonly wallMs: number;
}

/** In every event about one worker. */
export interface WorkerRef {
	readonly pool: string;
	/** Stable over incarnations. */
	readonly workerId: string;
	/** This one process. */
	readonly incarnation: string;
}

/** In every event about one call. */
export interface CallRef {
	readonly pool: string;
	readonly callId: string;
	readonly command: string;
}

/** How a call ended for its caller. */
export type CallOutcome = "succeeded" | "failed" | "aborted" | "timed_out";

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
	/** It was told to die and was still there at the deadline: uninterruptible sleep. */
	| "survived_kill";

/** Why a worker is replaced while it still works. */
export type RecycleReason = "age" | "calls" | "resident_memory";

/**
 * Every fact that core tells. One closed union; the past tense; what lasts has
 * one start and exactly one end.
 */
export type SnakepitEvent = EventTime &
	// A run of the ledger: begins, cleans up after the dead, ends.
	(
		| {
				readonly type: "run.started";
				readonly runId: RunId;
				readonly dataDir: string;
		  }
		| {
				readonly type: "run.ended";
				readonly runId: RunId;
				readonly clean: boolean;
		  }
		| { readonly type: "cleanup.started"; readonly runId: RunId }
		| {
				readonly type: "cleanup.finished";
				readonly runId: RunId;
				readonly durationMs: number;
				readonly deadRuns: number;
				readonly found: number;
				readonly killed: number;
				readonly spared: number;
		  }
		| {
				readonly type: "orphan.reaped";
				readonly ofRun: RunId;
				readonly pid: number;
				readonly how: "ended_on_term" | "killed";
				readonly foundBy: "ledger" | "marker" | "group";
		  }
		| {
				readonly type: "orphan.spared";
				readonly ofRun: RunId;
				readonly pid: number;
				readonly reason: SparedReason;
		  }
		| {
				readonly type: "run.spared";
				readonly ofRun: RunId;
				readonly reason: SparedReason;
		  }
		| {
				readonly type: "registry.set_aside";
				readonly path: string;
				readonly reason: string;
		  }
		| {
				readonly type: "registry.relocated";
				readonly path: string;
				readonly reason: string;
		  }
		| {
				readonly type: "registry.degraded";
				readonly code: ErrorCode;
				readonly message: string;
				readonly unwritten: number;
		  }
		| { readonly type: "registry.recovered"; readonly written: number }
		| {
				readonly type: "registry.reconciled";
				readonly runId: RunId;
				/** Workers whose process was gone without anybody telling. */
				readonly vanished: number;
				/** Processes that belong to no worker and were found for the first time. */
				readonly strays: number;
				readonly unwritten: number;
		  }
		// The auditor: a process that carries the run's marker and belongs to none of its workers.
		| {
				readonly type: "audit.stray_found";
				readonly runId: RunId;
				readonly pid: number;
				/** Which worker it says it descends from. */
				readonly incarnation: string | undefined;
				/** What the registry says of that worker. */
				readonly of: "ended" | "unknown";
				readonly name: string;
		  }
		| {
				readonly type: "audit.stray_killed";
				readonly runId: RunId;
				readonly pid: number;
				readonly incarnation: string | undefined;
				readonly how: "ended_on_term" | "killed";
		  }
		| {
				readonly type: "audit.stray_spared";
				readonly runId: RunId;
				readonly pid: number;
				readonly incarnation: string | undefined;
				readonly reason: SparedReason;
		  }
		// A protection: something outside of the host that ends workers when the host cannot.
		| {
				readonly type: "protection.started";
				readonly protection: string;
				readonly pid: number;
				/** From spawn to at work, in milliseconds. */
				readonly durationMs: number;
				/** How often it was started before in this run. */
				readonly restarts: number;
		  }
		| {
				readonly type: "protection.ended";
				readonly protection: string;
				readonly pid: number;
				readonly exit: ProcessExit | undefined;
				/** `"lost"`: it ended while the run goes on, and is started again. */
				readonly how: "released" | "lost";
		  }
		| {
				readonly type: "protection.unavailable";
				readonly protection: string;
				readonly reason: string;
		  }
		// What a protection saw and did while no host lived, told by the next start with the time at which it happened.
		| {
				readonly type: "protection.host_death_detected";
				readonly protection: string;
				readonly ofRun: RunId;
		  }
		| {
				readonly type: "protection.process_killed";
				readonly protection: string;
				readonly ofRun: RunId;
				readonly pid: number;
				/** Which worker it was, or descends from; `undefined` when that is not known. */
				readonly incarnation: string | undefined;
				readonly foundBy: "told" | "ledger" | "group" | "marker" | "descent";
		  }
		| {
				readonly type: "protection.run_settled";
				readonly protection: string;
				readonly ofRun: RunId;
				readonly killed: number;
				/** From the death of the host to the last process gone, in milliseconds. */
				readonly durationMs: number;
		  }
		// A pool.
		| {
				readonly type: "pool.started";
				readonly pool: string;
				readonly adapter: string;
				readonly workers: number;
				readonly durationMs: number;
		  }
		| {
				readonly type: "pool.start_failed";
				readonly pool: string;
				readonly adapter: string;
				readonly error: Error;
		  }
		| {
				readonly type: "pool.closing";
				readonly pool: string;
				readonly drainMs: number;
		  }
		| {
				readonly type: "pool.closed";
				readonly pool: string;
				readonly durationMs: number;
				/** Calls that were outstanding when the drain time was over. */
				readonly cutShort: number;
		  }
		| {
				readonly type: "pool.restart_budget_spent";
				readonly pool: string;
				readonly restarts: number;
				readonly windowMs: number;
		  }
		| {
				readonly type: "pool.adapter_noted";
				readonly pool: string;
				readonly adapter: string;
				readonly note: string;
		  }
		// A worker.
		| (WorkerRef & {
				readonly type: "worker.starting";
				readonly attempt: number;
				readonly replaces: string | undefined;
		  })
		| (WorkerRef & {
				readonly type: "worker.spawned";
				readonly pid: number;
				readonly source: string;
		  })
		| (WorkerRef & {
				readonly type: "worker.ready";
				readonly pid: number;
				/** From the reservation to ready, and its parts, in milliseconds. */
				readonly durationMs: number;
				readonly phases: {
					readonly spawnMs: number;
					readonly launchMs: number;
					readonly connectMs: number;
				};
				/** What the program said of itself. */
				readonly ready: unknown;
		  })
		| (WorkerRef & {
				readonly type: "worker.start_failed";
				readonly error: Error;
		  })
		| (WorkerRef & {
				readonly type: "worker.retiring";
				readonly reason: RecycleReason | "closed" | "idle";
		  })
		| (WorkerRef & {
				readonly type: "worker.condemned";
				readonly reason: EndReason;
				readonly message: string;
		  })
		| (WorkerRef & {
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
				readonly type: "worker.stop_step";
				readonly step: "leave" | "terminate" | "kill" | "sweep";
				readonly sent: number;
		  })
		| (WorkerRef & {
				readonly type: "worker.output";
				readonly stream: "stdout" | "stderr";
				readonly line: string;
				readonly cut: boolean;
		  })
		| (WorkerRef & {
				readonly type: "worker.logged";
				readonly record: WorkerLogRecord;
		  })
		// The heartbeat.
		| (WorkerRef & {
				readonly type: "heartbeat.sent";
				readonly sequence: number;
		  })
		| (WorkerRef & {
				readonly type: "heartbeat.answered";
				readonly sequence: number;
				readonly latencyMs: number;
		  })
		| (WorkerRef & {
				readonly type: "heartbeat.missed";
				readonly sequence: number;
				readonly missedInARow: number;
		  })
		| (WorkerRef & {
				readonly type: "heartbeat.busy";
				readonly silentMs: number;
				readonly cpuAdvancedMs: number;
		  })
		| (WorkerRef & {
				readonly type: "heartbeat.suspended";
				readonly reason: "host_lagged" | "clock_jumped" | "debugger";
		  })
		| (WorkerRef & {
				readonly type: "heartbeat.hung";
				readonly silentMs: number;
				readonly missedInARow: number;
		  })
		// A call: taken and settled, and within that each attempt on a worker.
		| (CallRef & { readonly type: "call.accepted"; readonly queued: number })
		| (CallRef &
				WorkerRef & {
					readonly type: "call.dispatched";
					readonly attempt: number;
					readonly waitedMs: number;
				})
		| (CallRef &
				WorkerRef & {
					readonly type: "call.released";
					readonly attempt: number;
					readonly ranMs: number;
				})
		| (CallRef & {
				readonly type: "call.retried";
				readonly attempt: number;
				readonly because: ErrorCode;
		  })
		| (CallRef & {
				readonly type: "call.settled";
				readonly outcome: CallOutcome;
				readonly code: ErrorCode | undefined;
				readonly attempts: number;
				readonly totalMs: number;
		  })
		// A session.
		| {
				readonly type: "session.started";
				readonly pool: string;
				readonly sessionId: string;
		  }
		| {
				readonly type: "session.ended";
				readonly pool: string;
				readonly sessionId: string;
				readonly reason: "closed" | "expired" | "lost";
		  }
		// The host program.
		| {
				readonly type: "host.signal_received";
				readonly signal: NodeJS.Signals;
				readonly forced: boolean;
		  }
		| {
				readonly type: "listener.threw";
				readonly of: string;
				readonly error: unknown;
		  }
	);

export type SnakepitEventType = SnakepitEvent["type"];
/** The event of one type. */
export type EventOf<Type extends SnakepitEventType> = Extract<
	SnakepitEvent,
	{ readonly type: Type }
>;
