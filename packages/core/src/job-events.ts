import type { CallOutcome } from "./call-events.ts";
import type { ErrorCode } from "./error-codes.ts";
import type { Killer } from "./registry/process-registry.ts";
import type { ProcessExit } from "./world.ts";

/** In every event about one job. */
export interface JobRef {
	/** Names the job, and its process in the ledger: `runId-number`. */
	readonly jobId: string;
	/** What is executed, without its arguments: they may be private. */
	readonly program: string;
}

/** Events of jobs. */
export type JobEvent =
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
