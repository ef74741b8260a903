import type { Duplex, Readable, Writable } from "node:stream";
import type { ListenerAddress, SlotCompanion } from "./launch-spec.ts";
import type { RunId } from "./run-id.ts";
import type { ProcessExit } from "./world.ts";

// What an adapter sees of one worker.

/** A worker's place in the pool. After a worker, the next incarnation uses its slot. */
export interface WorkerSlot {
	/** The name of the pool. */
	readonly pool: string;
	/**
	 * From 0 to the pool's maximum size minus 1, for example to choose a GPU. A worker that is being replaced shares its
	 * index with its successor until it has left.
	 */
	readonly index: number;
	/** The pool's maximum size. */
	readonly slots: number;
	/** `pool-index`; the same for all incarnations. */
	readonly workerId: string;
	/** The name of this one process; it is never used again. */
	readonly incarnation: string;
	readonly runId: RunId;
	/**
	 * A private directory (0700) for this incarnation's sockets and scratch files. It exists when `launch` is called, which
	 * may write a configuration there, and is removed when the incarnation is gone.
	 */
	readonly directory: string;
	/** The same in shared memory, for large values; `undefined` if the system has none. */
	readonly sharedDirectory: string | undefined;
	/** How many calls may run at once. */
	readonly callsPerWorker: number;
	/** How long the start may take, in milliseconds. */
	readonly startTimeoutMs: number;
	/** The current companion of the pool, if its adapter has one. */
	readonly companion?: SlotCompanion | undefined;
}

/** The worker's process, as its adapter sees it. */
export interface WorkerProcess {
	readonly slot: WorkerSlot;
	readonly pid: number;
	/** What the program sent in its ready line; `undefined` without a control channel. */
	readonly ready: unknown;
	/** The secret of this incarnation, known to the worker from its launch message. */
	readonly token: string;
	/** Only with `stdio: "adapter"`. */
	readonly stdin: Writable | undefined;
	/** Only with `stdio: "adapter"`. */
	readonly stdout: Readable | undefined;
	/**
	 * The host's end of a `"stream"` that `launch` requested. It is closed with the worker. If it ends while the process
	 * lives, call `broken` if that ends the connection.
	 *
	 * @throws TypeError when `launch` did not request this stream.
	 */
	descriptor(fd: number): Duplex;
	/**
	 * The address of a listener that `launch` requested, even if the program does not accept connections yet.
	 *
	 * @throws TypeError when `launch` did not request this listener.
	 */
	listener(fd: number): ListenerAddress;
	/**
	 * Resolves when the process is gone and you have read all its output: standard output with `stdio: "adapter"`, and the
	 * streams that you read. If another process holds one of them open, it resolves 1 s after the last byte, and at the
	 * latest 10 s after the process has ended. Never rejects.
	 */
	readonly exited: Promise<ProcessExit>;
	/**
	 * Waits for a line that the program prints, for example the address that a server listens on. Earlier lines of this
	 * start count, too. Standard output is available only without `stdio: "adapter"`.
	 *
	 * @returns the match. @throws Error when the output ends first; the signal's reason when it aborts.
	 */
	line(
		match: RegExp,
		from: "stdout" | "stderr",
		signal: AbortSignal,
	): Promise<RegExpExecArray>;
	/**
	 * Passes on a notification of the program's protocol, as the event `worker.notified`.
	 *
	 * @param notification its name in that protocol.
	 */
	notify(notification: string, data: unknown): void;
	/** Passes on one log record of the worker, as the event `worker.logged`. */
	log(record: WorkerLogRecord): void;
	/** Adds to the error of a start that takes too long. No effect once the worker is ready. */
	starting(report: StartReport): void;
	/**
	 * Reports to the pool that the connection broke, so the pool replaces the worker. Idempotent; no effect while the
	 * worker leaves.
	 */
	broken(error: Error): void;
}

/** What an adapter knows about a start that is not complete. */
export interface StartReport {
	/** What it waits for, as in `the answer to "initialize"`. The last one counts. */
	readonly awaits?: string | undefined;
	/** A line on standard output that does not belong to the protocol. The first one counts. */
	readonly stray?: string | undefined;
}

/** One record from the worker's own logging. */
export interface WorkerLogRecord {
	readonly level: "debug" | "info" | "warning" | "error" | "critical";
	readonly logger: string;
	readonly message: string;
	/** Milliseconds since the Unix epoch. */
	readonly wallMs: number;
	readonly callId?: string | undefined;
	readonly traceback?: string | undefined;
	/**
	 * Present if the worker itself shows the record: its code has a handler for it, or it was printed while the worker
	 * started.
	 */
	readonly handledBy?: "worker" | undefined;
	readonly traceId?: string | undefined;
	readonly spanId?: string | undefined;
}
