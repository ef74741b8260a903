import type { CleanupReport } from "../cleanup/cleanup-report.ts";
import { companionKeeper } from "../companion/companion.ts";
import { StartError } from "../contract/errors.ts";
import type { SnakepitEvent } from "../contract/events.ts";
import type { RunId } from "../contract/identity.ts";
import type {
	Afterwards,
	CloseManner,
} from "../contract/run-and-worker-states.ts";
import { addFrames, framesBelow } from "../contract/thrown.ts";
import type { World } from "../contract/world.ts";
import { Gate, resolvesWithin } from "../deadline.ts";
import type { Job } from "../job/job.ts";
import type { JobOptions } from "../job/job-options.ts";
import { Jobs } from "../job/jobs.ts";
import type { PoolOptions, ResolvedOptions } from "../options/pool-options.ts";
import { systemClock } from "../os/system-clock.ts";
import { makePool, type PoolOfRun } from "../pool/make-pool.ts";
import { EventHub } from "../pool/observe/event-hub.ts";
import { type PoolHealth, togetherOf } from "../pool/observe/health.ts";
import { Instrumentation } from "../pool/observe/instrumentation.ts";
import {
	type MetricReading,
	metricsText,
	type ReadableMetrics,
} from "../pool/observe/metrics-text.ts";
import { runFamilies } from "../pool/observe/pool-metrics.ts";
import { DISPATCHES_AT_ONCE } from "../pool/placement/dispatch-pace.ts";
import type { Pool, RegistryView } from "../pool/pool.ts";
import {
	CLOSE_DEFAULTS,
	type CloseOptions,
	checkCloseOptions,
} from "../pool/pool-control.ts";
import type { ToolMap, UntypedTools } from "../pool/tools.ts";
import { preloadedSource } from "../preload/preloaded-source.ts";
import { POOL_ACTS, POOL_INCIDENTS } from "../registry/incidents.ts";
import { WorkerStarter } from "../worker/worker-starter.ts";
import { applicationCleanup, FLUSH_MS } from "./application-cleanup.ts";
import type { Run, RunInfrastructure, RunStatistics } from "./run.ts";
import { type CheckedPool, checkPool } from "./run-options.ts";
import type { SharedRun } from "./shared-run.ts";
import type { StartedRun } from "./start-run.ts";

/** Of a pool, in the ledger. */
const RECORDED = [...POOL_INCIDENTS, ...POOL_ACTS];

/** What a pool has before its run: options, a name that no other has, and its listeners. */
interface PreparedPool {
	readonly options: ResolvedOptions;
	readonly hub: EventHub;
	readonly instrumentation: Instrumentation | undefined;
	/** Detaches the instruments and gives the name back. */
	readonly discard: () => void;
}

/** Attaches the listeners of a pool. */
export function preparePool(pool: CheckedPool): PreparedPool {
	const { options, giveNameBack } = pool;
	const hub = new EventHub();
	if (options.onEvent !== undefined) hub.subscribe(options.onEvent);
	const instrumentation = Instrumentation.attach(
		options,
		hub,
		systemClock.wall,
	);
	const discard = (): void => {
		instrumentation?.detach();
		giveNameBack();
	};
	return { options, hub, instrumentation, discard };
}

/** A pool of a run, for the end of the run or of the program. */
interface Member
	extends Pick<PoolOfRun["life"], "close" | "killNow">,
		Pick<PoolOfRun, "pool"> {
	flush(): Promise<void>;
}

/** One share in a run, and the pools that were made with it. */
export class OpenedRun implements Run, ReadableMetrics {
	readonly runId: RunId;
	readonly dataDir: string;
	readonly cleanupReport: CleanupReport;
	readonly registry: RegistryView;
	readonly infrastructure: RunInfrastructure;
	readonly #shared: SharedRun;
	readonly #started: StartedRun;
	/** Receives the events of the run. */
	readonly #hub: EventHub;
	/** Events of the opening, kept for the first pool: its listeners, its instruments and its output report them. */
	readonly #early: SnakepitEvent[];
	readonly #pools = new Set<Member>();
	readonly #jobs: Jobs;
	/** Those that the end of the program closed. */
	#flushed: readonly Member[] = [];
	#closed: Promise<void> | undefined;
	#left: Promise<void> | undefined;
	readonly #unregister: () => void;

	constructor(
		shared: SharedRun,
		started: StartedRun,
		hub: EventHub,
		early: readonly SnakepitEvent[] = [],
	) {
		this.#shared = shared;
		this.#started = started;
		this.#hub = hub;
		this.#early = [...early];
		this.infrastructure = started.infrastructure;
		this.registry = started.infrastructure.registry;
		this.runId = this.registry.runId;
		this.dataDir = shared.dataDir;
		this.cleanupReport = started.cleanupReport;
		this.#jobs = new Jobs({
			world: { ...started.infrastructure, emit: hub.emit },
			queue: started.jobQueue,
			get runDirectory() {
				return started.infrastructure.runDirectory;
			},
			marker: started.infrastructure.marker,
			environment: process.env,
			contextOf: hub.environment,
			unobserving: hub.unobserving,
		});
		this.#unregister = applicationCleanup.register({
			close: (graceMs, afterwards) => {
				this.#flushed = [...this.#pools];
				const by =
					afterwards === "dies" ? "a signal" : "the end of the program";
				return this.#close("gentle", graceMs, afterwards, by);
			},
			killNow: () => {
				this.#jobs.killNow();
				for (const pool of [...this.#pools].reverse()) pool.killNow();
			},
			flush: async () => {
				await Promise.all(this.#flushed.map((pool) => pool.flush()));
			},
		});
	}

	async createPool<Tools extends ToolMap = UntypedTools, Client = unknown>(
		given: PoolOptions<Client>,
	): Promise<Pool<Tools, Client>> {
		if (this.#closed !== undefined)
			throw new StartError({
				code: "RUN_CLOSED",
				message: `run.createPool: run ${this.runId} is closed. Create pools before run.close(), or open another run.`,
			});
		const prepared = preparePool(checkPool("run.createPool", given));
		const unsubscribe = this.#hub.subscribe(prepared.hub.receive);
		for (const event of this.#early.splice(0)) prepared.hub.emit(event);
		const caller = framesBelow(this.createPool);
		try {
			const pool = await this.start(prepared, async () => unsubscribe());
			return pool as Pool<Tools, Client>;
		} catch (error) {
			addFrames(error, caller);
			throw error;
		}
	}

	/**
	 * Makes a pool and starts its workers.
	 *
	 * @param released called when nothing of the pool is left, or it could not be started.
	 * @throws StartError, after everything of the pool was ended again.
	 */
	async start(
		{ options, hub, instrumentation, discard }: PreparedPool,
		released: () => Promise<void>,
	): Promise<Pool> {
		const { adapter } = options;
		const { infrastructure, cleanupReport, auditor } = this.#started;
		const { clock, host, source, registry, random, marker } = infrastructure;
		const { registry: ledger } = this.#started.infrastructure;
		hub.recordWith((event) => ledger.note(event), RECORDED);
		const inherited = {
			...{ marker, environment: process.env },
			contextOf: hub.environment,
			unobserving: hub.unobserving,
		};
		const { emit } = hub;
		const cold: World = { clock, host, source, registry, random, emit };
		const beside = {
			...{ options, ...inherited, world: cold },
			get runDirectory() {
				return infrastructure.runDirectory;
			},
		};
		const preloaded = preloadedSource(adapter, beside);
		const elsewhere = cleanupReport.sparedRuns.filter(
			({ reason }) => reason === "other_machine",
		);
		const companion = companionKeeper(
			...([adapter, beside] as const),
			elsewhere.map(({ runId }) => runId),
		);
		const world: World = { ...cold, source: preloaded ?? source };
		const { pool, life, endpoint } = makePool({
			...{ options, world, hub, instrumentation, cleanupReport },
			failedCalls: ledger,
			sightings: this.#started.sightings,
			dispatchesAtOnce: DISPATCHES_AT_ONCE,
			runDirectories: {
				get directory() {
					return infrastructure.runDirectory;
				},
				get shared() {
					return infrastructure.sharedDirectory;
				},
			},
			audit: () => auditor.statistics(),
			starter: new WorkerStarter({
				...{ adapter, options, world, ...inherited },
				gate: new Gate(options.start.concurrency),
				companions: companion,
				unobserved: instrumentation?.unobserved,
			}),
			companion,
			renewParent: () => preloaded?.renew(),
			abandonParent: () => preloaded?.abandon(),
			release: async () => {
				await preloaded?.release();
				this.#pools.delete(member);
				hide();
				await released().finally(discard);
			},
		});
		const member: Member = {
			close: (...how) => life.close(...how),
			killNow: () => {
				life.killNow();
				preloaded?.killNow();
			},
			flush: async () => instrumentation?.flush(),
			pool,
		};
		this.#pools.add(member);
		const hide = this.#started.control.add(endpoint);
		try {
			await life.open();
		} catch (error) {
			// Most programs end by this error, and with them what tells of it.
			if (instrumentation !== undefined)
				await resolvesWithin(instrumentation.flush(), FLUSH_MS, world.clock);
			throw error;
		}
		return pool;
	}

	job(command: readonly string[], options?: JobOptions): Job {
		return this.#jobs.job(command, options);
	}

	statistics(): RunStatistics {
		return {
			registry: this.registry.statistics(),
			audit: this.#started.auditor.statistics(),
			jobs: this.#jobs.statistics(),
		};
	}

	health(): PoolHealth {
		return togetherOf([...this.#pools].map(({ pool }) => pool.health()));
	}

	metricsText(): string {
		return metricsText(this.readMetrics());
	}

	readMetrics(): readonly MetricReading[] {
		const { runId, cleanupReport } = this;
		const { registry, audit } = this.statistics();
		const { sightings } = this.#started;
		const ofRun = runFamilies({ registry, audit, cleanupReport, sightings });
		const ofPools = [...this.#pools].flatMap(({ pool }) => pool.readMetrics());
		return [{ source: this, runId, families: [], ofRun }, ...ofPools];
	}

	close(options: CloseOptions = {}): Promise<void> {
		checkCloseOptions("run.close", options);
		const { manner = CLOSE_DEFAULTS.manner, drainMs, by } = options;
		return this.#close(manner, drainMs, undefined, by);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.close();
	}

	/** Gives the share back; with the last one the run ends. Idempotent. */
	leave(): Promise<void> {
		this.#unregister();
		this.#left ??= this.#shared.leave(this.#hub.receive, this.#started);
		return this.#left;
	}

	#close(
		manner: CloseManner,
		drainMs?: number,
		afterwards?: Afterwards,
		by?: string,
	): Promise<void> {
		const closing = [
			...[...this.#pools].map((pool) =>
				pool.close(manner, drainMs, afterwards, by),
			),
			this.#jobs.close(manner, drainMs, afterwards),
		];
		this.#closed ??= Promise.all(closing).then(() => this.leave());
		return this.#closed;
	}
}
