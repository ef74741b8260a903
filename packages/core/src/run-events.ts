import type { ErrorCode } from "./errors.ts";
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
	/** It was told to die and was still there at the deadline: uninterruptible sleep. */
	| "survived_kill";

/** What is told of a run: it begins, cleans up after the dead, is audited and protected, ends. */
export type RunEvent =
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
			/** Somebody took or damaged a file of this living run. */
			readonly type: "registry.file_lost";
			readonly runId: RunId;
			readonly file: "ledger" | "lock";
			readonly path: string;
			/** `"damaged"`: it is the same file, and what was written is not in it any more. */
			readonly how: "removed" | "replaced" | "damaged";
	  }
	| {
			/** It was made anew; what had its name was set aside. */
			readonly type: "registry.file_renewed";
			readonly runId: RunId;
			readonly file: "ledger" | "lock";
			readonly path: string;
	  }
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
	| {
			readonly type: "audit.failed";
			readonly runId: RunId;
			/** What the system answered; all is tried again at the next look. */
			readonly reason: string;
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
			/** The protection's own process; `undefined` when it did not write that down. */
			readonly pid: number | undefined;
	  }
	| {
			readonly type: "protection.process_killed";
			readonly protection: string;
			readonly ofRun: RunId;
			readonly pid: number;
			/** With the pid, this process and no other; `undefined` when it was not written down. */
			readonly startTime: string | undefined;
			/** Which worker it was, or descends from; `undefined` when that is not known. */
			readonly incarnation: string | undefined;
			readonly foundBy: "told" | "ledger" | "group" | "marker" | "descent";
			/** The last that the protection sent it; `undefined` when that was not written down. */
			readonly signal: "SIGTERM" | "SIGKILL" | undefined;
	  }
	| {
			readonly type: "protection.run_settled";
			readonly protection: string;
			readonly ofRun: RunId;
			readonly killed: number;
			/** From the death of the host to the last process gone, in milliseconds. */
			readonly durationMs: number;
	  };
