import type { ErrorCode } from "./error-codes.ts";
import type { WorkerPlace } from "./remote-worker.ts";
import type { RunId } from "./run-id.ts";
import type { ProcessExit } from "./world.ts";

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
export type RunEvent =
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
			readonly place: WorkerPlace;
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
			/** Who asked, as the client says. */
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
