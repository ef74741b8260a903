import type { ErrorCode } from "../contract/error-codes.ts";
import type { WorkerLostError } from "../contract/errors.ts";
import type { AttemptDetails } from "../contract/events.ts";
import type { ProcessIdentity } from "../contract/identity.ts";
import type { EndReason } from "../contract/process-registry.ts";
import type { OwnedProcess } from "../process/owned-process.ts";
import type { ConversationOutput } from "./conversation-output.ts";
import type { Worker } from "./worker.ts";
import type { WorkerOutput } from "./worker-output.ts";

/** One call on one worker, as the worker sees it. */
export interface Attempt {
	readonly callId: string;
	readonly command: string;
	/** Whether its caller waits, and the adapter may still answer. */
	readonly expectsAnswer: boolean;
	/** For people who look at the run. */
	view(): AttemptView;
	/** The worker is gone or will be: the call ends here. Called at most once, never after the attempt finished. */
	lost(error: WorkerLostError): void;
}

/** One call on one worker, as people see it. */
export interface AttemptView {
	readonly callId: string;
	readonly command: string;
	readonly sessionId: string | undefined;
	/** On the monotonic clock. */
	readonly startedMs: number;
	/** `"over"`: its caller has an answer or an error, and the worker is not done with it. */
	readonly caller: "waits" | "over";
	/** 1 for the first. */
	readonly attempt: number;
	/** How long its call waited for this worker, in milliseconds. */
	readonly waitedMs: number;
	/** The attempts of its call that failed; at most the last 20. */
	readonly failed: readonly (AttemptDetails & {
		readonly code: ErrorCode;
		readonly pauseMs: number;
	})[];
}

/** What a worker reports to its pool. */
export interface WorkerListener {
	/** It has started, and is about to offer what it can take. */
	becameReady(worker: Worker): void;
	/** It can take calls, or one more. */
	capacityOffered(worker: Worker): void;
	/** It takes no new calls. */
	capacityWithdrawn(worker: Worker): void;
	/** It is gone, and its end is recorded and reported. */
	released(worker: Worker, ending: WorkerEnding): void;
}

export interface WorkerEnding {
	readonly reason: EndReason;
	/** How long it was ready, in milliseconds; 0 when it never was. */
	readonly readyMs: number;
	/** Its process, if it was sent SIGKILL and did not end. */
	readonly undying?: ProcessIdentity;
}

/** What was made for a worker and is removed with it. */
export interface WorkerBelongings extends OwnedProcess {
	readonly output: WorkerOutput;
	readonly conversation: ConversationOutput;
	readonly dumpSignal: NodeJS.Signals | undefined;
}
