import { OptionsError, type SnakepitError } from "../errors.ts";
import type { EventOf, SnakepitEvent, SnakepitEventType } from "../events.ts";
import {
	checkOptions,
	milliseconds,
	nonEmptyText,
	oneOf,
	optional,
	show,
} from "../option-check.ts";
import type { ResolvedOptions } from "../options.ts";
import type { RunId } from "../run-id.ts";
import type { WorkerStarter } from "../worker/worker-starter.ts";
import type { World } from "../world.ts";
import { poolClosed } from "./call-errors.ts";
import type { Call } from "./call.ts";
import {
	checkExecuteOptions,
	checkSessionOptions,
	type ExecuteOptions,
	type SessionOptions,
} from "./call-options.ts";
import { Crew } from "./crew.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { EventHub } from "./event-hub.ts";
import { PoolSession } from "./pool-session.ts";
import { callStream } from "./call-stream.ts";
import { type Session, SessionTable } from "./session-table.ts";
import {
	type PoolStatistics,
	StatisticsKeeper,
	viewOf,
	type WorkerView,
} from "./statistics.ts";
import type {
	ArgsOf,
	ChunkOf,
	CommandOf,
	ResultOf,
	ToolMap,
	UntypedTools,
} from "./tools.ts";
import { captureContext, UnaryWork, type Work } from "./work.ts";

/** What a pool is made of; see create-pool.ts for the real one. */
export interface PoolSetting {
	readonly options: ResolvedOptions;
	readonly world: World;
	readonly hub: EventHub;
	readonly starter: WorkerStarter;
	readonly runDirectory: string;
	/** Called once when everything is gone. */
	readonly release: () => Promise<void>;
}

export interface CloseOptions {
	/** How long running and waiting calls may still take; `stop.drainMs` by default. */
	readonly drainMs?: number;
	/** `"forced"` kills at once. */
	readonly manner?: "gentle" | "forced";
}

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
	readonly #setting: PoolSetting;
	readonly #crew: Crew;
	readonly #dispatcher: Dispatcher;
	readonly #sessions: SessionTable;
	readonly #statistics = new StatisticsKeeper();
	readonly #calls = new Set<Call>();
	#sequence = 0;
	#letGo: (() => void) | undefined;
	#closing: Promise<void> | undefined;
	#drained: (() => void) | undefined;

	constructor(setting: PoolSetting) {
		const { options, world, hub } = setting;
		this.#setting = setting;
		this.name = options.name;
		this.runId = world.registry.runId;
		this.#dispatcher = new Dispatcher({
			pool: options.name,
			options,
			clock: world.clock,
			emit: hub.emit,
			onDemand: () => this.#crew.fill(),
			onSettled: (call, error) => this.#settled(call, error),
			onDispatched: (waitedMs) => this.#statistics.dispatched(waitedMs),
			onReleased: (ranMs) => this.#statistics.released(ranMs),
		});
		this.#sessions = new SessionTable(
			options.name,
			world.clock,
			options.sessions,
			hub.emit,
			(session) => this.#sessionEnded(session),
		);
		this.#crew = new Crew({
			options,
			world,
			starter: setting.starter,
			runDirectory: setting.runDirectory,
			waitingCalls: () => this.#dispatcher.waiting,
			isNeeded: (incarnation) => this.#sessions.needs(incarnation),
			onOffered: (worker) => {
				this.#dispatcher.capacityOffered(worker);
				this.#crew.worked(worker);
			},
			onWithdrawn: (worker) => this.#dispatcher.capacityWithdrawn(worker),
			onReleased: (worker) => {
				this.#sessions.processGone(worker.ref.incarnation);
				this.#dispatcher.released(worker);
			},
			onHopeless: (error) => this.#dispatcher.failWaiting(() => error),
		});
	}

	/** Starts the minimum of workers. Called by `createPool`. */
	async open(): Promise<void> {
		await this.#crew.open();
	}

	/**
	 * Runs one command on one worker.
	 *
	 * @throws InputError the call cannot work as made; ToolError the tool failed; QueueError it was never run;
	 *   CallTimeoutError, CallAbortedError; WorkerLostError the worker died under it; OptionsError.
	 */
	async execute<Command extends CommandOf<Tools>>(
		command: Command,
		args?: ArgsOf<Tools, Command>,
		options: ExecuteOptions = {},
	): Promise<ResultOf<Tools, Command>> {
		const work = new UnaryWork();
		this.submit(command, args, options, work, undefined);
		return (await work.promise) as ResultOf<Tools, Command>;
	}

	/**
	 * Runs one command that answers with a stream, in the order of its items. Begins
	 * when the first item is asked for; leaving the loop cancels it. A slow consumer
	 * slows the tool.
	 *
	 * @throws as `execute`, from the iteration.
	 */
	stream<Command extends CommandOf<Tools>>(
		command: Command,
		args?: ArgsOf<Tools, Command>,
		options: ExecuteOptions = {},
	): AsyncIterableIterator<ChunkOf<Tools, Command>> {
		checkExecuteOptions("pool.stream", options);
		return callStream(
			this,
			command,
			args,
			options,
			undefined,
		) as AsyncIterableIterator<ChunkOf<Tools, Command>>;
	}

	/**
	 * Opens a session: calls that find each other's state in the worker.
	 *
	 * @throws OptionsError; SnakepitError when the id is open already or there are too many (`sessions.limit`).
	 */
	session(options: SessionOptions = {}): PoolSession<Tools> {
		checkSessionOptions(options);
		if (this.#closing !== undefined)
			throw poolClosed(this.name, "session", "no");
		const session = this.#sessions.open(
			options.id ?? `s${++this.#sequence}`,
			options.affinity ?? "hint",
		);
		return new PoolSession<Tools>(this, session, () =>
			this.#sessions.end(session, "closed"),
		);
	}

	/** Hears every event, or those of one type. Returns the function that ends the subscription. */
	on(listener: (event: SnakepitEvent) => void): () => void;
	on<Type extends SnakepitEventType>(
		type: Type,
		listener: (event: EventOf<Type>) => void,
	): () => void;
	on<Type extends SnakepitEventType>(
		typeOrListener: Type | ((event: SnakepitEvent) => void),
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
		return this.#crew.workers().map(viewOf);
	}

	statistics(): PoolStatistics {
		return this.#statistics.view({
			waiting: this.#dispatcher.waiting,
			running: this.#dispatcher.running,
			sessions: this.#sessions.size,
			restarts: this.#crew.restarts,
			workers: this.#crew.workers(),
			registry: this.#setting.world.registry.statistics(),
		});
	}

	/**
	 * Asks one worker now whether it is there, whatever the interval says.
	 *
	 * @returns the latency in milliseconds; `undefined` when it did not answer, is not ready, or cannot be asked.
	 */
	async ping(workerId: string): Promise<number | undefined> {
		const worker = this.#crew
			.workers()
			.find((each) => each.ref.workerId === workerId && each.state === "ready");
		return await worker?.heartbeat?.forcePing();
	}

	/**
	 * Ends the pool: takes no more calls, lets those that wait or run end within the
	 * drain time, and ends every worker. Idempotent; resolves when nothing is left.
	 */
	close(options: CloseOptions = {}): Promise<void> {
		checkOptions("pool.close", options, {
			drainMs: optional(milliseconds(0)),
			manner: optional(oneOf("gentle", "forced")),
		});
		this.#closing ??= this.#close(
			options.manner ?? "gentle",
			options.drainMs ?? this.#setting.options.stop.drainMs,
		);
		return this.#closing;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.close();
	}

	/** Kills every worker in this very turn. For the exit of the host; `close()` is for everything else. */
	killNow(): void {
		this.#crew.killNow();
	}

	/** Takes one call. Shared by `execute`, streams and sessions. */
	submit(
		command: string,
		args: unknown,
		options: ExecuteOptions,
		work: Work,
		session: Session | undefined,
	): Call {
		const wrong = nonEmptyText(command);
		if (wrong !== undefined)
			throw new OptionsError({
				code: "INVALID_OPTION",
				ran: "no",
				message: `pool.execute: the command ${wrong}, got ${show(command)}.`,
			});
		checkExecuteOptions("pool.execute", options);
		const { clock, host } = this.#setting.world;
		if (this.#closing !== undefined) throw poolClosed(this.name, command, "no");
		if (session !== undefined) this.#sessions.use(session);
		const { calls, queue } = this.#setting.options;
		const timeoutMs = options.timeoutMs ?? calls.timeoutMs;
		const sequence = ++this.#sequence;
		const call: Call = {
			callId: `c${sequence}`,
			sequence,
			priority: options.priority ?? 0,
			command,
			args,
			work,
			session,
			inContext: captureContext(),
			signal: options.signal,
			input: options.input,
			traceContext: options.traceContext ?? {},
			// An input stream is read once: such a call cannot be made again.
			idempotentRetries:
				options.input === undefined ? (options.idempotentRetries ?? 0) : 0,
			queueTimeoutMs: options.queueTimeoutMs ?? queue.timeoutMs,
			acceptedMs: clock.now(),
			deadlineMs: Number.isFinite(timeoutMs)
				? clock.now() + timeoutMs
				: undefined,
			state: { kind: "waiting", sinceMs: clock.now(), timer: undefined },
			attempts: 0,
			unwatch: () => {},
		};
		this.#calls.add(call);
		this.#letGo ??= host.keepAlive();
		this.#statistics.accepted();
		this.#setting.hub.emit({
			type: "call.accepted",
			wallMs: clock.wall(),
			pool: this.name,
			callId: call.callId,
			command,
			queued: this.#dispatcher.waiting,
		});
		this.#dispatcher.submit(call);
		return call;
	}

	/** The consumer of a stream left. */
	abandon(call: Call): void {
		this.#dispatcher.abandon(call);
	}

	#settled(call: Call, error: SnakepitError | undefined): void {
		const { clock } = this.#setting.world;
		this.#calls.delete(call);
		if (call.session !== undefined) this.#sessions.done(call.session);
		const totalMs = clock.now() - call.acceptedMs;
		const outcome =
			error === undefined
				? "succeeded"
				: error.code === "CALL_ABORTED"
					? "aborted"
					: error.code === "CALL_TIMEOUT" || error.code === "QUEUE_TIMEOUT"
						? "timed_out"
						: "failed";
		this.#statistics.settled(outcome, totalMs);
		this.#setting.hub.emit({
			type: "call.settled",
			wallMs: clock.wall(),
			pool: this.name,
			callId: call.callId,
			command: call.command,
			outcome,
			code: error?.code,
			attempts: call.attempts,
			totalMs,
		});
		if (this.#calls.size > 0) return;
		this.#letGo?.();
		this.#letGo = undefined;
		this.#drained?.();
	}

	#sessionEnded(session: Session): void {
		if (session.incarnation === undefined || session.state === "lost") return;
		for (const worker of this.#crew.workers()) {
			// A hint session may have left its dictionary in several workers.
			if (worker.state === "ready" || worker.state === "draining")
				worker.connection?.endSession?.(session.id);
		}
	}

	async #close(manner: "gentle" | "forced", drainMs: number): Promise<void> {
		const { world, hub, release } = this.#setting;
		const { clock } = world;
		const begunMs = clock.now();
		const letGo = world.host.keepAlive();
		hub.emit({
			type: "pool.closing",
			wallMs: clock.wall(),
			pool: this.name,
			drainMs: manner === "gentle" ? drainMs : 0,
		});
		if (manner === "gentle" && this.#calls.size > 0) await this.#drain(drainMs);
		const killed = this.#calls.size;
		this.#dispatcher.fail(this.#calls, (call) =>
			poolClosed(this.name, call.command, call.attempts > 0 ? "maybe" : "no"),
		);
		this.#sessions.endAll();
		await this.#crew.close(killed > 0 ? "forced" : manner);
		hub.emit({
			type: "pool.closed",
			wallMs: clock.wall(),
			pool: this.name,
			durationMs: clock.now() - begunMs,
			killed,
		});
		await release();
		letGo();
	}

	async #drain(ms: number): Promise<void> {
		await new Promise<void>((resolve) => {
			const timer = this.#setting.world.clock.after(ms, resolve);
			this.#drained = () => {
				timer.cancel();
				resolve();
			};
		});
	}
}
