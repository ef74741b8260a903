import type { CallOptions } from "./call-options.ts";
import type { RemoteUsage, WorkerPlace } from "./remote-worker.ts";

/** What {@link Connection.execute} resolves to when the call was sent, but has certainly not begun and never will. */
export const NOT_BEGUN: unique symbol = Symbol.for("snakepit.notBegun");

/** Calls that wait in the worker until it is done with the one that it runs. */
export interface SendAhead {
	/** Whether this call may be sent while the worker runs another one: it is small, and can be taken back. */
	admits(command: string, args: unknown): boolean;
	/**
	 * Takes back this call and those that were sent after it, in this very turn and whatever the worker is doing: returns
	 * the ids of those that have not begun and never will. Their `execute` resolves to {@link NOT_BEGUN}. So does that of
	 * any other call for which the worker, or its memory after its death, shows that it did not begin.
	 */
	takeBack(callId: string): ReadonlySet<string>;
}

/** A conversation with one worker. */
export interface Connection<Client = unknown> extends AsyncDisposable {
	/** What `pool.use` gives to its tasks: the client object of a library that speaks to this worker. */
	readonly client?: Client | undefined;
	/** What the worker said about itself and people may want to see, as its version and capabilities: part of its `WorkerView`. */
	readonly facts?: Readonly<Record<string, unknown>> | undefined;
	/** The machine on which the worker runs, where that is another one: shown beside it, and kept in the ledger. */
	readonly place?: WorkerPlace | undefined;
	/**
	 * Of a worker on another machine: what it uses there, as measured last; `undefined` before the first time. The pool
	 * judges by it whether a silent worker works, and by its memory when it is replaced.
	 */
	usage?(): RemoteUsage | undefined;
	/**
	 * Present when the worker keeps calls that are sent to it while it runs one, and begins them one after the other, each
	 * after the answer before has left. Only with one call per worker.
	 */
	readonly ahead?: SendAhead | undefined;
	/**
	 * Runs one command.
	 *
	 * Settles only when the worker is done with it, also after an abort: the
	 * promise is what frees the slot. After `options.signal` aborts it should
	 * reject soon; a worker that does not finish within the pool's grace is
	 * replaced.
	 *
	 * @throws InputError when the call cannot work as made; ToolError when the tool failed; CallAbortedError after an abort.
	 */
	execute(
		command: string,
		args: unknown,
		options: CallOptions,
	): Promise<unknown>;
	/**
	 * Runs one command that answers with a stream. Takes no more from the worker
	 * than the consumer asked for, but for a bounded window. Closing the iterator
	 * cancels the call; `return()` settles when the worker is done with it. The value
	 * of the last step (`done: true`) is the stream's result, where the program has
	 * such a thing.
	 */
	stream?(
		command: string,
		args: unknown,
		options: CallOptions,
	): AsyncIterable<unknown>;
	/** Absent: the heartbeat uses process facts only. */
	ping?(signal: AbortSignal): Promise<PingReply>;
	/** Notifies the worker that a session has ended. */
	endSession?(sessionId: string): void;
	/** Gentlest rung of the stop ladder: asks the worker to end by itself. */
	leave?(signal: AbortSignal): Promise<void>;
}

/** The answer to a ping. */
export interface PingReply {
	/** How many calls the worker believes it is running. */
	readonly callsRunning: number;
}
