import type { ObservedPool } from "../contract/instrument.ts";
import type { ProcessHost } from "../contract/world.ts";
import type { Worker } from "../worker/worker.ts";
import { Calls } from "./calls/calls.ts";
import { CallReports } from "./observe/call-reports.ts";
import { ControlEndpoint } from "./observe/control-endpoint.ts";
import type { EventHub } from "./observe/event-hub.ts";
import { LastFailure } from "./observe/last-failure.ts";
import type { ReadableMetrics } from "./observe/metrics-text.ts";
import { EventCounts, SlotUsage } from "./observe/pool-metrics.ts";
import {
	oldestAttempts,
	StatisticsKeeper,
	workersUsage,
} from "./observe/statistics.ts";
import { STDERR_TYPES, StderrReport } from "./observe/stderr-report.ts";
import { type Session, SessionTable } from "./placement/session-table.ts";
import type { Pool } from "./pool.ts";
import type { PoolDependencies, PoolInternals } from "./pool-internals.ts";
import { PoolLife } from "./pool-life.ts";
import { WorkerPool } from "./worker-pool.ts";
import type { PoolSize } from "./workers/sizing.ts";
import { WorkerSet } from "./workers/worker-set.ts";

/** A pool as the run has it: only the run opens it, and ends it with the program. */
export interface PoolOfRun {
	/** As its users hold it, and with its metrics and those of its run. */
	readonly pool: Pool & ReadableMetrics;
	readonly life: PoolLife;
	/** For those who look at the run from another process. */
	readonly endpoint: ControlEndpoint;
}

/** Makes a pool that is not opened yet. */
export function makePool(dependencies: PoolDependencies): PoolOfRun {
	const internals = internalsOf(dependencies);
	const life = new PoolLife(internals);
	const pool = new WorkerPool(internals, life);
	dependencies.instrumentation?.watch(observed(pool, internals));
	const endpoint = new ControlEndpoint(pool, internals, life);
	return { pool, life, endpoint };
}

/** Makes the parts of one pool and connects them. */
function internalsOf(dependencies: PoolDependencies): PoolInternals {
	const { options, world, hub } = dependencies;
	const { clock, host } = world;
	if (options.output.echo === "stderr") showUntaken(hub, host);
	const pool = options.name;
	const size: PoolSize = { min: options.size.min, max: options.size.max };
	const statistics = new StatisticsKeeper();
	const lastFailure = new LastFailure(hub);
	const sessions = new SessionTable(
		pool,
		clock,
		options.sessions.ttlMs,
		hub.emit,
		(session) => {
			dropState(session, workerSet);
			workerSet.replacer.retireUnneeded();
		},
	);
	const calls = new Calls({
		options,
		size,
		clock,
		host,
		random: world.random,
		dispatchesAtOnce: dependencies.dispatchesAtOnce,
		sessions,
		reports: new CallReports({
			pool,
			clock,
			hub,
			statistics,
			redact: options.observe.args,
			instrumentation: dependencies.instrumentation,
			failedCalls: dependencies.failedCalls,
		}),
		fill: () => workerSet.fill(),
		replaceIfWorn: (worker) => workerSet.replacer.judge(worker),
	});
	const workerSet = new WorkerSet({
		...dependencies,
		size,
		calls,
		sessions,
	});
	const events = new EventCounts(hub);
	const usage = new SlotUsage(
		() => workersUsage(workerSet.workers(), host),
		clock,
	);
	return {
		...dependencies,
		...{ statistics, lastFailure, sessions, calls, workerSet, size },
		...{ events, usage },
	};
}

/** A pool as its instruments see it. */
function observed(
	pool: Pick<Pool, "name" | "runId" | "statistics">,
	{ workerSet, world, options, statistics }: PoolInternals,
): ObservedPool {
	const { name, runId } = pool;
	return {
		name,
		runId,
		look: () => {
			const { workers, size, calls, sessions, registry } = pool.statistics();
			const { waiting, running } = calls;
			const { commits, commitMs, unwritten } = registry;
			return {
				...{ workers, size, waiting, running, sessions },
				oldest: oldestAttempts(workerSet.workers(), world.clock.now()),
				queueLimit: options.queue.limit,
				settled: { ...statistics.outcomes },
				...{ commits, commitMs, unwritten },
			};
		},
		usage: () => workersUsage(workerSet.workers(), world.host),
	};
}

/** Writes events to standard error that no listener shows to people. */
function showUntaken(hub: EventHub, host: ProcessHost): void {
	const report = new StderrReport();
	hub.subscribe((event) => {
		const text = report.textOf(event);
		if (text !== undefined && !hub.isShown(event.type)) host.echo(text);
	}, STDERR_TYPES);
}

/** The session is over: workers need its dictionary no more. */
function dropState(session: Session, workerSet: WorkerSet): void {
	if (session.incarnation === undefined || session.state === "lost") return;
	for (const worker of workerSet.workers()) {
		// A hint session may have left its dictionary in several workers.
		if (worker.state === "ready" || worker.state === "draining")
			endSession(worker, session.id);
	}
}

/** An adapter that throws here must not keep a session, or its last call, from its end. */
function endSession({ connection }: Worker, sessionId: string): void {
	try {
		connection?.endSession?.(sessionId);
	} catch {
		// Its worker keeps the dictionary until it ends.
	}
}
