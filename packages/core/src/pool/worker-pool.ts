import type { CleanupReport } from "../cleanup/cleanup-report.ts";
import { OptionsError } from "../contract/errors.ts";
import type {
	EventOf,
	SnakepitEventType,
	SnakepitListener,
} from "../contract/events.ts";
import type { RunId } from "../contract/identity.ts";
import { show } from "../options/check.ts";
import { checkEventType } from "../options/event-types.ts";
import { poolClosed } from "./calls/call-errors.ts";
import {
	type Affinity,
	checkExecuteOptions,
	checkSessionOptions,
	type ExecuteOptions,
	SESSION_DEFAULTS,
	type SessionOptions,
} from "./calls/call-options.ts";
import type { Calls } from "./calls/calls.ts";
import type { PoolHealth } from "./observe/health.ts";
import {
	type MetricReading,
	metricsText,
	type ReadableMetrics,
} from "./observe/metrics-text.ts";
import { type MeasuredRun, poolReading } from "./observe/pool-metrics.ts";
import { poolHealth } from "./observe/pool-snapshot.ts";
import {
	oldestAttempts,
	type PoolStatistics,
	viewOf,
	type WorkerView,
} from "./observe/statistics.ts";
import { mapConcurrency } from "./placement/prefetch-windows.ts";
import type { Session, SessionTable } from "./placement/session-table.ts";
import type { Pool, PoolSession, RegistryView } from "./pool.ts";
import {
	CLOSE_DEFAULTS,
	type CloseOptions,
	checkCloseOptions,
	PoolControl,
} from "./pool-control.ts";
import type { PoolInternals } from "./pool-internals.ts";
import type { PoolLife } from "./pool-life.ts";
import {
	CallMap,
	checkMap,
	type Items,
	type MapOptions,
} from "./work/call-map.ts";
import { type CallStream, callStream } from "./work/call-stream.ts";
import type { LeaseOptions, LeaseTask } from "./work/lease.ts";

const UNSEEN: MeasuredRun["sightings"] = {
	orphanMs: undefined,
	activationMs: undefined,
	standstills: { stopped: 0, suspended: 0, blocked: 0 },
};

/** A pool as its users hold it; the run opens it, and ends it with the program. */
export class WorkerPool extends PoolControl implements Pool, ReadableMetrics {
	readonly name: string;
	readonly runId: RunId;
	readonly cleanupReport: CleanupReport;
	readonly registry: RegistryView;
	readonly #internals: PoolInternals;
	readonly #life: PoolLife;
	#sessionsMade = 0;

	constructor(internals: PoolInternals, life: PoolLife) {
		super(internals, life);
		const { options, world } = internals;
		this.#internals = internals;
		this.#life = life;
		this.name = options.name;
		this.runId = world.registry.runId;
		this.cleanupReport = internals.cleanupReport;
		this.registry = world.registry;
	}

	execute(
		command: string,
		args?: unknown,
		options?: ExecuteOptions,
	): Promise<unknown> {
		return this.#internals.calls.execute(command, args, options);
	}

	stream(
		command: string,
		args?: unknown,
		options: ExecuteOptions = {},
	): CallStream<unknown> {
		checkExecuteOptions("pool.stream", options);
		return callStream(this.#internals.calls, command, args, options, undefined);
	}

	use<Result>(
		task: LeaseTask<unknown, Result>,
		options: LeaseOptions = {},
	): Promise<Result> {
		return this.#internals.calls.lease(task, options);
	}

	map(
		command: string,
		items: Items<unknown>,
		options: MapOptions = {},
	): AsyncIterableIterator<unknown, undefined> {
		checkMap(items, options);
		const { calls, size } = this.#internals;
		const { callsPerWorker } = this.#internals.options;
		const { prefetch } = calls.placement;
		// A tool may turn out to be quick, or slow, in the middle of a map.
		const concurrency = (): number =>
			options.concurrency ??
			mapConcurrency(
				size.max,
				size.max * callsPerWorker,
				prefetch.recentMs(command),
			);
		return new CallMap(calls, this.name, command, items, options, concurrency);
	}

	session(options: SessionOptions = {}): PoolSession {
		checkSessionOptions(options);
		const { calls, sessions } = this.#internals;
		if (this.#life.isClosing && !calls.isDying)
			throw poolClosed(this.name, "pool.session");
		const session = sessions.open(
			options.id ?? `s${++this.#sessionsMade}`,
			options.affinity ?? SESSION_DEFAULTS.affinity,
		);
		return new OpenSession(calls, sessions, session);
	}

	on(listener: SnakepitListener): () => void;
	on<Type extends SnakepitEventType>(
		type: Type,
		listener: (event: EventOf<Type>) => void,
	): () => void;
	on<Type extends SnakepitEventType>(
		typeOrListener: Type | SnakepitListener,
		listener?: (event: EventOf<Type>) => void,
	): () => void {
		const { hub } = this.#internals;
		if (typeof typeOrListener === "function")
			return hub.subscribe(typeOrListener);
		checkEventType("pool.on", typeOrListener);
		if (typeof listener !== "function") {
			throw new OptionsError({
				code: "INVALID_OPTION",
				message: `pool.on("${typeOrListener}", listener): the listener must be a function, got ${show(listener)}.`,
			});
		}
		return hub.subscribeTo(typeOrListener, listener);
	}

	workers(): readonly WorkerView[] {
		return this.#internals.workerSet.workers().map(viewOf);
	}

	statistics(): PoolStatistics {
		const { statistics, calls, sessions, workerSet, size } = this.#internals;
		return statistics.view({
			size: { ...size },
			dispatch: calls.placement.isPaused ? "paused" : "running",
			waiting: calls.placement.waiting,
			running: calls.outstanding.running,
			sessions: sessions.size,
			restarts: workerSet.restarts,
			workers: workerSet.workers(),
			registry: this.#internals.world.registry.statistics(),
			audit: this.#internals.audit(),
		});
	}

	health(): PoolHealth {
		return poolHealth(this.#internals, this.#life);
	}

	metricsText(): string {
		return metricsText(this.readMetrics());
	}

	readMetrics(): readonly MetricReading[] {
		const { name, runId, cleanupReport } = this;
		const { events, usage, statistics, options } = this.#internals;
		const { sightings = UNSEEN } = this.#internals;
		const { durations } = statistics;
		const { workerSet, world } = this.#internals;
		const ages = oldestAttempts(workerSet.workers(), world.clock.now());
		return [
			poolReading({
				source: this,
				...{ name, runId, cleanupReport, durations, events, usage },
				...{ sightings, queueLimit: options.queue.limit },
				oldestMs: Math.max(0, ...ages.map(({ forMs }) => forMs)),
				statistics: this.statistics(),
			}),
		];
	}

	async ping(workerId: string): Promise<number | undefined> {
		const worker = this.#internals.workerSet
			.workers()
			.find((each) => each.ref.workerId === workerId && each.state === "ready");
		// Nothing else may hold the program open until the answer is there.
		const releaseHost = this.#internals.world.host.keepAlive();
		try {
			return await worker?.heartbeat?.forcePing();
		} finally {
			releaseHost();
		}
	}

	close(options: CloseOptions = {}): Promise<void> {
		checkCloseOptions("pool.close", options);
		return this.#life.close(
			options.manner ?? CLOSE_DEFAULTS.manner,
			options.drainMs,
			"goes_on",
			options.by,
		);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.close();
	}
}

/** A session as its users hold it. */
class OpenSession implements PoolSession {
	readonly id: string;
	readonly affinity: Affinity;
	readonly #calls: Calls;
	readonly #sessions: SessionTable;
	readonly #session: Session;

	constructor(calls: Calls, sessions: SessionTable, session: Session) {
		this.id = session.id;
		this.affinity = session.affinity;
		this.#calls = calls;
		this.#sessions = sessions;
		this.#session = session;
		session.calls = this;
	}

	get incarnation(): string | undefined {
		return this.#session.incarnation;
	}

	execute(
		command: string,
		args?: unknown,
		options?: ExecuteOptions,
	): Promise<unknown> {
		return this.#calls.execute(command, args, options, this.#session);
	}

	stream(
		command: string,
		args?: unknown,
		options: ExecuteOptions = {},
	): CallStream<unknown> {
		checkExecuteOptions("session.stream", options);
		return callStream(this.#calls, command, args, options, this.#session);
	}

	use<Result>(
		task: LeaseTask<unknown, Result>,
		options: LeaseOptions = {},
	): Promise<Result> {
		return this.#calls.lease(task, options, this.#session);
	}

	close(): void {
		this.#sessions.end(this.#session, "closed");
	}

	[Symbol.dispose](): void {
		this.close();
	}
}
