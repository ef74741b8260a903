import type { ProcessHost } from "../world.ts";
import { CallIntake } from "./call-intake.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { EventHub } from "./event-hub.ts";
import { PoolLife } from "./pool-life.ts";
import type { PoolSetting } from "./pool-setting.ts";
import { type Session, SessionTable } from "./session-table.ts";
import { SpokenEvents } from "./spoken-events.ts";
import { StatisticsKeeper } from "./statistics.ts";
import { WorkerSet } from "./worker-set.ts";

/** What a pool works with. */
export interface PoolParts {
	readonly statistics: StatisticsKeeper;
	readonly sessions: SessionTable;
	readonly intake: CallIntake;
	readonly dispatcher: Dispatcher;
	readonly workerSet: WorkerSet;
	readonly life: PoolLife;
}

/** Makes the parts of one pool, and lets each tell those whom its news concerns. */
export function poolParts(setting: PoolSetting): PoolParts {
	const { options, world, hub } = setting;
	const { clock, host } = world;
	if (options.output.echo === "stderr") showUntaken(hub, host);
	const pool = options.name;
	const statistics = new StatisticsKeeper();
	const sessions = new SessionTable(
		pool,
		clock,
		options.sessions,
		hub.emit,
		(session) => dropState(session, workerSet),
	);
	const intake = new CallIntake({
		pool,
		options,
		clock,
		host,
		emit: hub.emit,
		sessions,
		statistics,
		dispatcher: (): Dispatcher => dispatcher,
		instrumentation: setting.instrumentation,
	});
	const dispatcher = new Dispatcher({
		pool,
		options,
		clock,
		atOnce: setting.dispatchesAtOnce,
		emit: hub.emit,
		onDemand: () => workerSet.fill(),
		onSettled: (call, error) => intake.settled(call, error),
		onDispatched: (waitedMs) => statistics.dispatched(waitedMs),
		onReleased: (ranMs) => {
			statistics.released(ranMs);
			intake.letGoIfIdle();
		},
	});
	const workerSet = new WorkerSet({
		options,
		world,
		starter: setting.starter,
		runDirectories: setting.runDirectories,
		waitingCalls: () => dispatcher.waiting,
		isNeeded: (incarnation) => sessions.needs(incarnation),
		onOffered: (worker) => dispatcher.capacityOffered(worker),
		onWithdrawn: (worker) => dispatcher.capacityWithdrawn(worker),
		onReserved: (worker) => dispatcher.reserveForSessions(worker),
		onReleased: (worker) => {
			sessions.processGone(worker.ref.incarnation);
			dispatcher.released(worker);
		},
		onHopeless: (error) => dispatcher.failWaiting(error),
	});
	const life = new PoolLife({
		pool,
		options,
		world,
		emit: hub.emit,
		workerSet,
		dispatcher,
		intake,
		sessions,
		release: setting.release,
	});
	return { statistics, sessions, intake, dispatcher, workerSet, life };
}

/** Writes to standard error what nobody else shows to people. */
function showUntaken(hub: EventHub, host: ProcessHost): void {
	const spoken = new SpokenEvents();
	hub.subscribe((event) => {
		const text = spoken.textOf(event);
		if (text !== undefined && !hub.isTaken(event.type)) host.echo(text);
	});
}

/** The session is over: workers need its dictionary no more. */
function dropState(session: Session, workerSet: WorkerSet): void {
	if (session.incarnation === undefined || session.state === "lost") return;
	for (const worker of workerSet.workers()) {
		// A hint session may have left its dictionary in several workers.
		if (worker.state === "ready" || worker.state === "draining")
			worker.connection?.endSession?.(session.id);
	}
}
