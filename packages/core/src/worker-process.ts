import type { Duplex, Readable, Writable } from "node:stream";
import type { ListenerAddress, SlotCompanion } from "./launch-spec.ts";
import type { RunId } from "./run-id.ts";
import type { ProcessExit } from "./world.ts";

// What an adapter sees of one worker.

/** A place in the pool. A worker that dies leaves its slot to the next incarnation. */
export interface WorkerSlot {
	/** The name of the pool. */
	readonly pool: string;
	/** From 0 to the pool's maximum size minus 1: a GPU each, for example. A worker that is replaced while it still works shares its own with its successor until it has left. */
	readonly index: number;
	/** The pool's maximum size. */
	readonly slots: number;
	/** `pool-index`, stable over incarnations. */
	readonly workerId: string;
	/** Names this one process: never used again. */
	readonly incarnation: string;
	readonly runId: RunId;
	/** A private directory (0700) for this incarnation's sockets and scratch files; removed when it is gone. */
	readonly directory: string;
	/** The like in shared memory, for values too large to send; `undefined` where the system has none. */
	readonly sharedDirectory: string | undefined;
	/** How many calls may run at once. */
	readonly callsPerWorker: number;
	/** How long the start may take, in milliseconds. */
	readonly startTimeoutMs: number;
	/** The companion of the pool, where its adapter has one; another one after that is lost. */
	readonly companion?: SlotCompanion | undefined;
}

/** The process as the adapter sees it. */
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
	 * This end of a `"stream"` that `launch` asked for. It is closed with the worker. Its end while the process lives is
	 * for you to judge: call `broken` if the conversation ends with it.
	 *
	 * @throws TypeError when `launch` asked for no such stream.
	 */
	descriptor(fd: number): Duplex;
	/**
	 * Where a listener that `launch` asked for can be reached, whether the program accepts already or not.
	 *
	 * @throws TypeError when `launch` asked for no such listener.
	 */
	listener(fd: number): ListenerAddress;
	/**
	 * Settles when the process is gone and you have read what it wrote to standard output, with `stdio: "adapter"`, and to
	 * the streams that you read: 1 s after the last byte where something else holds one open, 10 s after its end at the
	 * latest. Never rejects.
	 */
	readonly exited: Promise<ProcessExit>;
	/**
	 * Waits for a line that the program prints, as the one in which a server says where it listens; those of the start
	 * before now count too. Standard output only without `stdio: "adapter"`.
	 *
	 * @returns the match. @throws Error when the output ends before; the signal's reason when it aborts.
	 */
	line(
		match: RegExp,
		from: "stdout" | "stderr",
		signal: AbortSignal,
	): Promise<RegExpExecArray>;
	/**
	 * Hands on what the program says without being asked, as a notification of its protocol: the event `worker.notified`.
	 *
	 * @param notification its name in that protocol.
	 */
	notify(notification: string, data: unknown): void;
	/** Hands one log record of the worker to the listeners. */
	log(record: WorkerLogRecord): void;
	/** Reports to the pool that the conversation broke: the worker is replaced. Idempotent; of no effect while it leaves. */
	broken(error: Error): void;
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
	/** Present when the record is shown by the worker: a handler of its own code has it, or it was printed while the worker started. */
	readonly handledBy?: "worker" | undefined;
	readonly traceId?: string | undefined;
	readonly spanId?: string | undefined;
}
