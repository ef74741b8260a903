import type { CleanupReport } from "../cleanup/cleanup-report.ts";
import { OptionsError } from "../errors.ts";
import type {
	EventOf,
	SnakepitEventType,
	SnakepitListener,
} from "../events.ts";
import type { ObservedPool } from "../instrument.ts";
import { show } from "../option-check.ts";
import type { ProcessRegistry } from "../registry/process-registry.ts";
import type { Afterwards } from "../run/cleanup-participant.ts";
import type { RunId } from "../run-id.ts";
import { poolClosed } from "./call-errors.ts";
import { CallMap } from "./call-map.ts";
import {
	checkExecuteOptions,
	checkSessionOptions,
	type ExecuteOptions,
	SESSION_DEFAULTS,
	type SessionOptions,
} from "./call-options.ts";
import { type CallStream, callStream } from "./call-stream.ts";
import {
	CLOSE_DEFAULTS,
	type CloseOptions,
	checkCloseOptions,
} from "./close-options.ts";
import { checkMap, type Items, type MapOptions } from "./map-options.ts";
import { type PoolParts, poolParts } from "./pool-parts.ts";
import { PoolSession } from "./pool-session.ts";
import type { PoolSetting } from "./pool-setting.ts";
import { type PoolStatistics, viewOf, type WorkerView } from "./statistics.ts";
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
import { workersUsage } from "./workers-usage.ts";

/** What can be asked of the ledger. */
export type RegistryView = Pick<
	ProcessRegistry,
	"runId" | "state" | "list" | "living" | "lookup" | "runs" | "statistics"
>;

/**
 * A pool of workers that take calls. Heals itself, and leaves nothing behind.
 *
 * Made by `createPool`; used with `await using`, or closed by `close()`.
 */
export class Pool<Tools extends ToolMap = UntypedTools>
	implements AsyncDisposable
{
	readonly name: string;
	/** The run of the ledger that its workers are recorded in. */
	readonly runId: RunId;
	/** What dead programs had left behind when this one started: found, ended, spared and why. */
	readonly cleanupReport: CleanupReport;
	/** The ledger of this program's run, to look at. */
	readonly registry: RegistryView;
	readonly #setting: PoolSetting;
	readonly #parts: PoolParts;
	#sessionsMade = 0;

	constructor(setting: PoolSetting) {
		const { options, world } = setting;
		this.#setting = setting;
		this.name = options.name;
		this.runId = world.registry.runId;
		this.cleanupReport = setting.cleanupReport;
		this.registry = world.registry;
		this.#parts = poolParts(setting);
	}

	/**
	 * Prepares the adapter and starts the minimum of workers; ends everything again
	 * when that fails. Called once, by `createPool`.
	 *
	 * @throws StartError, or what the adapter's `prepare` threw.
	 */
	async open(): Promise<void> {
		await this.#parts.life.open();
	}

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
	execute(
		command: string,
		args?: unknown,
		options?: ExecuteOptions,
	): Promise<unknown> {
		return this.#parts.calls.execute(command, args, options);
	}

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
	stream(
		command: string,
		args?: unknown,
		options: ExecuteOptions = {},
	): CallStream<unknown> {
		checkExecuteOptions("pool.stream", options);
		return callStream(this.#parts.calls, command, args, options, undefined);
	}

	/**
	 * Runs one command for each of many items, so many at once as the pool has room
	 * for, or `concurrency`: the results in the order of the items, or as they come.
	 *
	 * Begins when the first result is asked for. A slow consumer slows the input. No
	 * item is refused because the queue is full: it waits until there is room. The
	 * first error ends all of it, after the results that are there: what runs is
	 * cancelled, the input is closed, and the error says which `item` it is of.
	 * Leaving the loop does the same.
	 *
	 * @throws OptionsError at once; from the iteration as `execute`, what the input throws, and CallAbortedError when `signal` aborts.
	 */
	map<Command extends AnswerCommandOf<Tools>>(
		command: Command,
		items: Items<ArgsOf<Tools, Command>>,
		options?: MapOptions,
	): AsyncIterableIterator<ResultOf<Tools, Command>, undefined>;
	map(
		command: string,
		items: Items<unknown>,
		options: MapOptions = {},
	): AsyncIterableIterator<unknown, undefined> {
		checkMap(items, options);
		const { size, callsPerWorker } = this.#setting.options;
		const capacity = size.max * callsPerWorker;
		const { calls } = this.#parts;
		return new CallMap(calls, this.name, command, items, options, capacity);
	}

	/**
	 * Opens a session: calls that find each other's state in the worker.
	 *
	 * @throws OptionsError; SnakepitError when the id is open already or there are too many (`sessions.limit`).
	 */
	session(options: SessionOptions = {}): PoolSession<Tools> {
		checkSessionOptions(options);
		const { life, calls, sessions } = this.#parts;
		if (life.isClosing && calls.failures === "reported")
			throw poolClosed(this.name, "pool.session", "no");
		const session = sessions.open(
			options.id ?? `s${++this.#sessionsMade}`,
			options.affinity ?? SESSION_DEFAULTS.affinity,
		);
		return new PoolSession<Tools>(calls, sessions, session);
	}

	/**
	 * Calls a listener with every event, or with those of one type, which it takes then: core does not write them to
	 * standard error (`output.echo`). Returns the function that ends the subscription.
	 */
	on(listener: SnakepitListener): () => void;
	on<Type extends SnakepitEventType>(
		type: Type,
		listener: (event: EventOf<Type>) => void,
	): () => void;
	on<Type extends SnakepitEventType>(
		typeOrListener: Type | SnakepitListener,
		listener?: (event: EventOf<Type>) => void,
	): () => void {
		const { hub } = this.#setting;
		if (typeof typeOrListener === "function")
			return hub.subscribe(typeOrListener);
		if (typeof listener !== "function") {
			throw new OptionsError({
				code: "INVALID_OPTION",
				ran: "no",
				message: `pool.on("${typeOrListener}", listener): the listener must be a function, got ${show(listener)}.`,
			});
		}
		return hub.subscribeTo(typeOrListener, listener);
	}

	/** Its workers now, those that start or leave included. */
	workers(): readonly WorkerView[] {
		return this.#parts.workerSet.workers().map(viewOf);
	}

	statistics(): PoolStatistics {
		const { statistics, calls, sessions, workerSet } = this.#parts;
		return statistics.view({
			waiting: calls.scheduler.waiting,
			running: calls.outstanding.running,
			sessions: sessions.size,
			restarts: workerSet.restarts,
			workers: workerSet.workers(),
			registry: this.#setting.world.registry.statistics(),
			audit: this.#setting.audit(),
		});
	}

	/**
	 * Asks one worker now whether it is there, whatever the interval says.
	 *
	 * @returns the latency in milliseconds; `undefined` when it did not answer, is not ready, or cannot be asked.
	 */
	async ping(workerId: string): Promise<number | undefined> {
		const worker = this.#parts.workerSet
			.workers()
			.find((each) => each.ref.workerId === workerId && each.state === "ready");
		// Nothing else may hold the program open until the answer is there.
		const letGo = this.#setting.world.host.keepAlive();
		try {
			return await worker?.heartbeat?.forcePing();
		} finally {
			letGo();
		}
	}

	/**
	 * Ends the pool: takes no more calls, lets those that wait or run end within the
	 * drain time, and ends every worker. Idempotent; resolves when nothing is left.
	 * A second call with `manner: "forced"` kills what the first still waits for.
	 */
	close(options: CloseOptions = {}): Promise<void> {
		checkCloseOptions(options);
		return this.#parts.life.close(
			options.manner ?? CLOSE_DEFAULTS.manner,
			options.drainMs,
		);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.close();
	}

	/** For those who follow it from within. */
	observed(): ObservedPool {
		const { name, runId } = this;
		return {
			name,
			runId,
			look: () => {
				const { workers, calls, sessions, registry } = this.statistics();
				const { waiting, running } = calls;
				const { commits, commitMs, unwritten } = registry;
				return {
					...{ workers, waiting, running, sessions },
					...{ commits, commitMs, unwritten },
				};
			},
			usage: () =>
				workersUsage(this.#parts.workerSet.workers(), this.#setting.world.host),
		};
	}

	/** For the orderly end of the host, which knows whether the program goes on afterwards. */
	endWithProgram(drainMs: number, afterwards: Afterwards): Promise<void> {
		return this.#parts.life.close("gentle", drainMs, afterwards);
	}

	/** Kills every worker in this very turn. For the exit of the host; `close()` is for everything else. */
	killNow(): void {
		this.#parts.workerSet.killNow();
	}
}
