import type { CallOptions } from "./call-options.ts";
import type { RemoteUsage, WorkerPlace } from "./remote-worker.ts";

/** The value of {@link Connection.execute} for a call that was sent, but has certainly not begun and never will. */
export const NOT_BEGUN: unique symbol = Symbol.for("snakepit.notBegun");

/** Sends calls ahead: they wait in the worker until it has finished the one that it runs. */
export interface SendAhead {
	/** Whether this call may be sent ahead: it must be small, and it must be possible to take it back. */
	admits(command: string, args: unknown): boolean;
	/**
	 * Takes back this call and those that were sent after it, synchronously and whatever the worker is doing; if this one
	 * is over already, the others. Returns the
	 * ids of those that have not begun and never will; their `execute` resolves to {@link NOT_BEGUN}. So does `execute` of
	 * any other call if the worker, or its shared memory after its death, shows that the call did not begin.
	 */
	takeBack(callId: string): ReadonlySet<string>;
}

/** The connection to one worker. */
export interface Connection<Client = unknown> extends AsyncDisposable {
	/** What `pool.use` passes to its tasks: the client object of a library that communicates with this worker. */
	readonly client?: Client | undefined;
	/** What the worker reported about itself, such as its version and capabilities. Shown in its `WorkerView`. */
	readonly facts?: Readonly<Record<string, unknown>> | undefined;
	/** The machine on which the worker runs, if that is not this one. Shown in its `WorkerView`, and recorded in the ledger. */
	readonly place?: WorkerPlace | undefined;
	/**
	 * For a worker on another machine: the latest measurement of what it uses there; `undefined` before the first one. Its
	 * processor time shows whether a silent worker is busy; its memory counts for `recycle.aboveResidentBytes`.
	 */
	usage?(): RemoteUsage | undefined;
	/**
	 * Present if the worker queues calls that are sent to it while it runs one, and begins each after it has sent the
	 * previous answer. Only with one call per worker.
	 */
	readonly ahead?: SendAhead | undefined;
	/**
	 * Runs one command.
	 *
	 * The promise must settle only when the worker has finished with the call, even after an abort, because it frees the
	 * slot. After `options.signal` aborts, it should reject soon: the pool replaces a worker that does not finish within
	 * `calls.cancelGraceMs`.
	 *
	 * @throws InputError when the call itself is wrong; ToolError when the tool failed; CallAbortedError after an abort.
	 */
	execute(
		command: string,
		args: unknown,
		options: CallOptions,
	): Promise<unknown>;
	/**
	 * Runs one command that answers with a stream. Takes from the worker only what the consumer requested, plus a bounded
	 * window. Closing the iterator cancels the call; `return()` settles when the worker has finished with it. The value of
	 * the last step (`done: true`) is the stream's result, if the program has one.
	 */
	stream?(
		command: string,
		args: unknown,
		options: CallOptions,
	): AsyncIterable<unknown>;
	/** Pings the worker. If absent, the heartbeat only checks the process. */
	ping?(signal: AbortSignal): Promise<PingReply>;
	/** Notifies the worker that a session has ended. */
	endSession?(sessionId: string): void;
	/** The first rung of the stop ladder: asks the worker to exit by itself. */
	leave?(signal: AbortSignal): Promise<void>;
}

/** The answer to a ping. */
export interface PingReply {
	/** How many calls the worker believes it is running. */
	readonly callsRunning: number;
}
