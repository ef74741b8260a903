import type { CleanupReport } from "../cleanup/cleanup-report.ts";
import type {
	EventOf,
	SnakepitEventType,
	SnakepitListener,
} from "../contract/events.ts";
import type { RunId } from "../contract/identity.ts";
import type { ProcessRegistry } from "../contract/process-registry.ts";
import type { Affinity, SessionOptions } from "./calls/call-options.ts";
import type { PoolHealth } from "./observe/health.ts";
import type { PoolStatistics, WorkerView } from "./observe/statistics.ts";
import type {
	CloseOptions,
	ControlOptions,
	NewSize,
	ReplaceOptions,
} from "./pool-control.ts";
import type {
	AnswerCommandOf,
	ArgsOf,
	CallParametersOf,
	ChunkOf,
	ResultOf,
	StreamCommandOf,
	StreamResultOf,
	ToolMap,
	UntypedTools,
} from "./tools.ts";
import type { Items, MapOptions } from "./work/call-map.ts";
import type { CallStream } from "./work/call-stream.ts";
import type { LeaseOptions, LeaseTask } from "./work/lease.ts";

/** The part of the ledger that a program may read. */
export type RegistryView = Pick<
	ProcessRegistry,
	"runId" | "state" | "record" | "list" | "living" | "lookup" | "statistics"
>;

// `keyof Tools &` has the compiler list the names where one is wrong, instead of the name of the type.

/** Takes calls: a pool, or one of its sessions. */
export interface ToolCaller<
	Tools extends ToolMap = UntypedTools,
	Client = unknown,
> {
	/**
	 * Runs one command on one worker. Do not change the arguments before the call has ended: they are read when it is sent,
	 * and again if it is sent a second time.
	 *
	 * @throws InputError the call is wrong, for example its arguments; ToolError the tool failed; QueueError the pool refused
	 *   the call, had no worker for it in time, or was closed; CallTimeoutError; CallAbortedError; WorkerLostError the worker
	 *   died during the call; OptionsError.
	 */
	execute<Command extends keyof Tools & AnswerCommandOf<Tools>>(
		command: Command,
		...given: CallParametersOf<Tools, Command>
	): Promise<ResultOf<Tools, Command>>;

	/**
	 * Runs one command that answers with a stream, and yields its items in order. The call begins when the first item is
	 * requested; leaving the loop cancels it. A slow consumer slows the tool down. `result` is what the command returns
	 * after the last item.
	 *
	 * @throws the same errors as `execute`, while you iterate.
	 */
	stream<Command extends keyof Tools & StreamCommandOf<Tools>>(
		command: Command,
		...given: CallParametersOf<Tools, Command>
	): CallStream<ChunkOf<Tools, Command>, StreamResultOf<Tools, Command>>;

	/**
	 * Runs a task with the client of one worker, for adapters that have one, such as the client of a protocol's own
	 * library. The task counts as one call of that worker until the promise that it returns has settled.
	 *
	 * @throws what the task throws, unchanged, unless the connection to its worker has ended; InputError `NOT_OFFERED` when
	 *   the adapter has no client; QueueError, CallTimeoutError, CallAbortedError, WorkerLostError, OptionsError as `execute`.
	 */
	use<Result>(
		task: LeaseTask<Client, Result>,
		options?: LeaseOptions,
	): Promise<Result>;
}

/**
 * Calls that share state in one worker. Close the session when you no longer need it, or let it expire
 * (`sessions.ttlMs`). When the worker of a strict session is gone, its calls fail with WorkerLostError `SESSION_LOST`.
 */
export interface PoolSession<
	Tools extends ToolMap = UntypedTools,
	Client = unknown,
> extends ToolCaller<Tools, Client>,
		Disposable {
	readonly id: string;
	readonly affinity: Affinity;
	/** The process that holds the session's state; `undefined` before the first call. */
	readonly incarnation: string | undefined;
	/** Ends the session: the worker drops its state. Idempotent. */
	close(): void;
}

/**
 * A pool of workers that take calls. It replaces workers that fail, and leaves no process behind.
 *
 * `createPool` and `run.createPool` create one. Declare it with `await using`, or call `close()`.
 */
export interface Pool<Tools extends ToolMap = UntypedTools, Client = unknown>
	extends ToolCaller<Tools, Client>,
		AsyncDisposable {
	readonly name: string;
	/** The run in whose ledger the pool's workers are recorded. */
	readonly runId: RunId;
	/** Processes of dead programs, as found when the run was opened: which were killed, which were spared, and why. */
	readonly cleanupReport: CleanupReport;
	/** The ledger of the pool's run, read-only. */
	readonly registry: RegistryView;

	/**
	 * Runs one command for each item, as many at once as the pool has room for, or `concurrency`. Yields the results in
	 * the order of the items, or as they finish (`order`).
	 *
	 * The map begins when the first result is requested. A slow consumer slows the input down. If the queue is full, an
	 * item waits instead of being refused. The first error ends the map, after the results that are already there: running
	 * calls are cancelled and have no result, the input is closed, and the error's `item` says which item failed. Leaving
	 * the loop also cancels running calls and closes the input.
	 *
	 * @throws OptionsError immediately; while you iterate, the errors of `execute`, what the input throws, and CallAbortedError
	 *   when `signal` aborts.
	 */
	map<Command extends keyof Tools & AnswerCommandOf<Tools>>(
		command: Command,
		items: Items<ArgsOf<Tools, Command>>,
		options?: MapOptions,
	): AsyncIterableIterator<ResultOf<Tools, Command>, undefined>;

	/**
	 * Opens a session: calls that share state in one worker.
	 *
	 * @throws OptionsError; SnakepitError when a session with this id is open, or 10,000 are open.
	 */
	session(options?: SessionOptions): PoolSession<Tools, Client>;

	/**
	 * Calls a listener with every event of the pool and of its run, or only with events of one type. Events of a type that
	 * has its own listener are not written to standard error (`output.echo`). Returns a function that ends the subscription.
	 */
	on(listener: SnakepitListener): () => void;
	on<Type extends SnakepitEventType>(
		type: Type,
		listener: (event: EventOf<Type>) => void,
	): () => void;

	/** The current workers, including those that are starting or stopping. */
	workers(): readonly WorkerView[];

	statistics(): PoolStatistics;

	/**
	 * The metrics of the pool, and of its run, in Prometheus's text format: counted since the pool was created, and with
	 * the names that `@snakepit/telemetry` has in Prometheus. `metricsHandler` of `@snakepit/core/metrics` serves it.
	 */
	metricsText(): string;

	/**
	 * Whether the pool can do its work: `live` is false only if a restart of the program would help, `ready` if new calls
	 * should go elsewhere, and `reasons` says why. Takes microseconds. `probes` of `@snakepit/core/probes` answers HTTP
	 * requests with it.
	 */
	health(): PoolHealth;

	/**
	 * Pings one worker now, regardless of `heartbeat.intervalMs`.
	 *
	 * @returns the latency in milliseconds; `undefined` when the worker did not answer, is not ready, or cannot be pinged.
	 */
	ping(workerId: string): Promise<number | undefined>;

	/**
	 * Replaces one worker, or `"all"`, one after the other. The new worker is ready before the old one finishes its calls
	 * and leaves. A worker that is still starting is not replaced. Resolves when the old worker is gone, which includes the
	 * wait for a strict session that needs it. If the worker is already being replaced or is leaving, waits for that.
	 *
	 * @throws InputError `WORKER_NOT_FOUND`; StartError of a new worker: then the old one stays, and so do those after it;
	 *   QueueError `POOL_CLOSED`; OptionsError.
	 */
	recycle(
		workerId: "all" | (string & {}),
		options?: ReplaceOptions,
	): Promise<void>;

	/**
	 * Kills one worker and starts a new one with a full restart budget for the pool (`start.maxRestarts`), even if
	 * the budget was used up. Its calls fail with WorkerLostError `WORKER_REPLACED`, or are retried if they have `retry`.
	 * Resolves when the new worker is ready. If a restart is already under way, waits for it.
	 *
	 * @throws InputError `WORKER_NOT_FOUND`; StartError; QueueError `POOL_CLOSED`; OptionsError.
	 */
	restart(workerId: string, options?: ControlOptions): Promise<void>;

	/**
	 * Sends no calls to workers until `resume`. The pool still accepts calls, which wait, and so do prefetched calls; their
	 * deadlines still count. Running calls continue. `close` resumes the pool. No effect on a paused pool.
	 *
	 * @throws QueueError `POOL_CLOSED`; OptionsError.
	 */
	pause(options?: ControlOptions): void;

	/** Sends calls to workers again. No effect on a pool that is not paused. Throws the same errors as `pause`. */
	resume(options?: ControlOptions): void;

	/**
	 * Changes the number of workers; a bound that you leave out keeps its value. Surplus workers leave: idle ones first, the
	 * others when their calls have ended and no strict session needs them.
	 *
	 * @throws QueueError `POOL_CLOSED`; OptionsError.
	 */
	resize(size: NewSize, options?: ControlOptions): void;

	/**
	 * Closes the pool: accepts no more calls, waits up to the drain time for waiting and running calls, and stops every
	 * worker. Idempotent. Resolves when no process of the pool is left. A second call with `manner: "forced"` kills immediately
	 * what the first still waits for.
	 *
	 * @throws CloseError `STILL_THERE`, which names processes that could not be ended: see its remedy.
	 */
	close(options?: CloseOptions): Promise<void>;
}
