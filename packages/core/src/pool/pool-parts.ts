import type { ProcessHost } from "../contract/world.ts";
import type { Worker } from "../worker/worker.ts";
import { Calls } from "./calls/calls.ts";
import { CallReports } from "./observe/call-reports.ts";
import type { EventHub } from "./observe/event-hub.ts";
import { StatisticsKeeper } from "./observe/statistics.ts";
import { STDERR_TYPES, StderrReport } from "./observe/stderr-report.ts";
import { type Session, SessionTable } from "./placement/session-table.ts";
import { PoolControl } from "./pool-control.ts";
import { PoolLife } from "./pool-life.ts";
import type { PoolSetting } from "./pool-setting.ts";
import type { PoolSize } from "./workers/sizing.ts";
import { WorkerSet } from "./workers/worker-set.ts";

/** What a pool works with. */
export interface PoolParts {
	readonly statistics: StatisticsKeeper;
	readonly sessions: SessionTable;
	readonly calls: Calls;
	readonly workerSet: WorkerSet;
	readonly life: PoolLife;
	readonly control: PoolControl;
	/** As it is now. */
	readonly size: Readonly<PoolSize>;
}

/** Makes the parts of one pool and connects them. */
export function poolParts(setting: PoolSetting): PoolParts {
	const { options, world, hub } = setting;
	const { clock, host } = world;
	if (options.output.echo === "stderr") showUntaken(hub, host);
	const pool = options.name;
	const size: PoolSize = { min: options.size.min, max: options.size.max };
	const statistics = new StatisticsKeeper();
	const sessions = new SessionTable(
		pool,
		clock,
		options.sessions.ttlMs,
		hub.emit,
		(session) => {
			dropState(session, workerSet);
			workerSet.retireUnneeded();
		},
	);
	const calls = new Calls({
		options,
		size,
		clock,
		host,
		random: world.random,
		dispatchesAtOnce: setting.dispatchesAtOnce,
		sessions,
		reports: new CallReports({
			pool,
			clock,
			hub,
			statistics,
			redact: options.observe.args,
			instrumentation: setting.instrumentation,
		}),
		fill: () => workerSet.fill(),
	});
	const workerSet = new WorkerSet({
		options,
		size,
		world,
		starter: setting.starter,
		runDirectories: setting.runDirectories,
		calls,
		sessions,
		renewParent: setting.renewParent,
	});
	const life = new PoolLife({
		pool,
		options,
		world,
		emit: hub.emit,
		workerSet,
		calls,
		sessions,
		companion: setting.companion,
		abandonParent: setting.abandonParent,
		release: setting.release,
	});
	const control = new PoolControl({
		...{ pool, clock, host, size, emit: hub.emit },
		...{ calls, workerSet, life },
	});
	return { statistics, sessions, calls, workerSet, life, control, size };
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
