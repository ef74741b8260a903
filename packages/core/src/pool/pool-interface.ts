import type { CleanupReport } from "../cleanup/cleanup-report.ts";
import type {
	EventOf,
	SnakepitEventType,
	SnakepitListener,
} from "../events.ts";
import type { ProcessRegistry } from "../registry/process-registry.ts";
import type { RunId } from "../run-id.ts";
import type { Affinity, SessionOptions } from "./call-options.ts";
import type { CallStream } from "./call-stream.ts";
import type { CloseOptions } from "./close-options.ts";
import type { LeaseOptions, LeaseTask } from "./lease.ts";
import type { Items, MapOptions } from "./map-options.ts";
import type {
	ControlOptions,
	NewSize,
	ReplaceOptions,
} from "./pool-control.ts";
import type { PoolStatistics, WorkerView } from "./statistics.ts";
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

/** What can be read of the ledger. */
export type RegistryView = Pick<
	ProcessRegistry,
	"runId" | "state" | "record" | "list" | "living" | "lookup" | "statistics"
>;

/** What takes calls: a pool, and a session of it. */
export interface ToolCaller<
	Tools extends ToolMap = UntypedTools,
	Client = unknown,
> {
	/**
	 * Runs one command on one worker.
	 *
	 * @throws InputError the call cannot work as made; ToolError the tool failed; QueueError it was not taken, waited too long, or the pool was closed;
	 *   CallTimeoutError, CallAbortedError; WorkerLostError the worker died under it; OptionsError.
	 */
	execute<Command extends AnswerCommandOf<Tools>>(
		command: Command,
		...given: CallParametersOf<Tools, Command>
	): Promise<ResultOf<Tools, Command>>;

	/**
	 * Runs one command that answers with a stream, in the order of its items. Begins
	 * when the first item is asked for; leaving the loop cancels it. A slow consumer
	 * slows the tool. What the command returns after the last item is `result`.
	 *
	 * @throws as `execute`, from the iteration.
	 */
	stream<Command extends StreamCommandOf<Tools>>(
		command: Command,
		...given: CallParametersOf<Tools, Command>
	): CallStream<ChunkOf<Tools, Command>, StreamResultOf<Tools, Command>>;

	/**
	 * Runs a task with the client of one worker, which counts as one call of that worker until what the task returns has
	 * settled: for adapters that have a client, as that of a protocol's own library.
	 *
	 * @throws what the task throws, as it is, unless its worker's conversation has ended; InputError `NOT_OFFERED` when
	 *   the adapter has no client; QueueError, CallTimeoutError, CallAbortedError, WorkerLostError, OptionsError as `execute`.
	 */
	use<Result>(
		task: LeaseTask<Client, Result>,
		options?: LeaseOptions,
	): Promise<Result>;
}

/**
 * Calls that find each other's state in the worker. Close it when it is over, or
 * let it expire (`sessions.ttlMs`). Calls also fail with WorkerLostError `SESSION_LOST`
 * when a strict session's worker is gone.
 */
export interface PoolSession<
	Tools extends ToolMap = UntypedTools,
	Client = unknown,
> extends ToolCaller<Tools, Client>,
		Disposable {
	readonly id: string;
	readonly affinity: Affinity;
	/** The process that holds its state; `undefined` before its first call. */
	readonly incarnation: string | undefined;
	/** The worker drops its state. Idempotent. */
	close(): void;
}

/**
 * A pool of workers that take calls. Heals itself, and leaves nothing behind.
 *
 * Made by `createPool` or `run.createPool`; used with `await using`, or closed by `close()`.
 */
export interface Pool<Tools extends ToolMap = UntypedTools, Client = unknown>
	extends ToolCaller<Tools, Client>,
		AsyncDisposable {
	readonly name: string;
	/** The run of the ledger that its workers are recorded in. */
	readonly runId: RunId;
	/** What dead programs had left behind when its run was opened: found, ended, spared and why. */
	readonly cleanupReport: CleanupReport;
	/** The ledger of its run, to read. */
	readonly registry: RegistryView;

	/**
	 * Runs one command for each of many items, so many at once as the pool has room
	 * for, or `concurrency`: the results in the order of the items, or as they come.
	 *
	 * Begins when the first result is asked for. A slow consumer slows the input. No
	 * item is refused because the queue is full: it waits until there is room. The
	 * first error ends all of it, after the results that are there: what runs is
	 * cancelled, the input is closed, and the error says which `item` it is of;
	 * items before it that still ran have no result.
	 * Leaving the loop does the same.
	 *
	 * @throws OptionsError at once; from the iteration as `execute`, what the input throws, and CallAbortedError when `signal` aborts.
	 */
	map<Command extends AnswerCommandOf<Tools>>(
		command: Command,
		items: Items<ArgsOf<Tools, Command>>,
		options?: MapOptions,
	): AsyncIterableIterator<ResultOf<Tools, Command>, undefined>;

	/**
	 * Opens a session: calls that find each other's state in the worker.
	 *
	 * @throws OptionsError; SnakepitError when the id is open already or there are too many (`sessions.limit`).
	 */
	session(options?: SessionOptions): PoolSession<Tools, Client>;

	/**
	 * Calls a listener with every event of the pool and of its run, or with those of one type, which it takes then: core
	 * does not write them to standard error (`output.echo`). Returns the function that ends the subscription.
	 */
	on(listener: SnakepitListener): () => void;
	on<Type extends SnakepitEventType>(
		type: Type,
		listener: (event: EventOf<Type>) => void,
	): () => void;

	/** Its workers now, those that start or leave included. */
	workers(): readonly WorkerView[];

	statistics(): PoolStatistics;

	/**
	 * Asks one worker now whether it is there, whatever the interval says.
	 *
	 * @returns the latency in milliseconds; `undefined` when it did not answer, is not ready, or cannot be asked.
	 */
	ping(workerId: string): Promise<number | undefined>;

	/**
	 * Replaces one worker, or `"all"`, one after the other: the new worker is ready before the old one finishes its
	 * calls and leaves. One that starts is new already; one that leaves already is waited for. Resolves when the old
	 * worker is gone, so one that a strict session needs is waited for, too. Where it is under way already, that is waited for.
	 *
	 * @throws InputError `WORKER_NOT_FOUND`; StartError of a new worker, and then the old one stays, with those after it;
	 *   QueueError `POOL_CLOSED`; OptionsError.
	 */
	recycle(
		workerId: "all" | (string & {}),
		options?: ReplaceOptions,
	): Promise<void>;

	/**
	 * Kills one worker and starts it anew at once, with the whole restart budget for the pool (`start.maxRestarts`): also
	 * one that is not tried any more. Its calls fail with WorkerLostError `WORKER_REPLACED`, or are made again where they
	 * are idempotent. Resolves when the new worker is ready. A restart that is under way is waited for.
	 *
	 * @throws InputError `WORKER_NOT_FOUND`; StartError; QueueError `POOL_CLOSED`; OptionsError.
	 */
	restart(workerId: string, options?: ControlOptions): Promise<void>;

	/**
	 * Sends no call to a worker until `resume`: calls are taken and wait, also those that were sent ahead, and their
	 * deadlines go on. Calls that run go on. `close` resumes. Does nothing when the pool is paused.
	 *
	 * @throws QueueError `POOL_CLOSED`; OptionsError.
	 */
	pause(options?: ControlOptions): void;

	/** Sends calls to workers again. Does nothing when the pool is not paused. Throws as `pause`. */
	resume(options?: ControlOptions): void;

	/**
	 * Has another number of workers from now on; what is left out stays. Workers that are too many leave: those first that
	 * run nothing, the others when their calls have ended and no strict session needs them.
	 *
	 * @throws QueueError `POOL_CLOSED`; OptionsError.
	 */
	resize(size: NewSize, options?: ControlOptions): void;

	/**
	 * Ends the pool: takes no more calls, lets those that wait or run end within the
	 * drain time, and ends every worker. Idempotent; resolves when nothing is left.
	 * A second call with `manner: "forced"` kills what the first still waits for.
	 */
	close(options?: CloseOptions): Promise<void>;
}
