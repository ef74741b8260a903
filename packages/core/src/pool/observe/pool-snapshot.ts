import type {
	PoolSnapshot,
	QueueSnapshot,
	RunningCall,
	WorkerSnapshot,
} from "@snakepit/control/server";
import type { AttemptView } from "../../worker/running-calls.ts";
import type { Worker } from "../../worker/worker.ts";
import type { Call } from "../calls/call.ts";
import type { PoolInternals } from "../pool-internals.ts";
import type { PoolLife } from "../pool-life.ts";
import { healthOf, type PoolHealth } from "./health.ts";
import { type StatisticsKeeper, viewOf } from "./statistics.ts";

/** So many calls are looked at: a queue may be long, and this is read twice a second. */
const LOOKED_AT = 10_000;
const MOST_SHOWN = 100;

/** A pool at one moment, as people see it who look at the run from another process. */
export function poolSnapshot(
	internals: PoolInternals,
	{ phase }: Pick<PoolLife, "phase">,
): PoolSnapshot {
	const { options, world, calls, sessions, size } = internals;
	const { statistics, workerSet } = internals;
	const nowMs = world.clock.now();
	const { outstanding, placement } = calls;
	return {
		pool: options.name,
		adapter: options.adapter.name,
		phase: phase === "open" && placement.isPaused ? "paused" : phase,
		size: { ...size },
		callsPerWorker: options.callsPerWorker,
		workers: bySlot(workerSet.workers()).map((worker) =>
			workerSnapshot(worker, internals, nowMs),
		),
		restarts: workerSet.restarts,
		starts: workerSet.startsView(),
		lastFailure: internals.lastFailure.failure,
		failureTimes: internals.lastFailure.times,
		sessions: sessions.size,
		calls: {
			accepted: statistics.accepted,
			waiting: placement.waiting,
			running: outstanding.running,
			...statistics.outcomes,
		},
		recentCalls: statistics.recent.view(nowMs),
		queue: queueSnapshot(
			outstanding.first(LOOKED_AT),
			placement.waiting,
			options.queue.limit,
			nowMs,
		),
		health: poolHealth(internals, { phase }),
	};
}

/** Whether a pool can do its work now. */
export function poolHealth(
	{ options, size, calls, workerSet, lastFailure }: PoolInternals,
	{ phase }: Pick<PoolLife, "phase">,
): PoolHealth {
	const states = workerSet.workers().map(({ state }) => state);
	const { isPaused, waiting } = calls.placement;
	const { failuresInARow, budget, next } = workerSet.startsView();
	return healthOf({
		pool: options.name,
		phase: phase === "open" && isPaused ? "paused" : phase,
		min: size.min,
		ready: states.filter((state) => state === "ready").length,
		starting: states.filter((state) => state === "starting").length,
		waiting,
		limit: options.queue.limit,
		...{ failuresInARow, budget, next },
		lastFailure: lastFailure.failure?.code,
	});
}

/** A worker at one moment. */
export function workerSnapshot(
	worker: Worker,
	{ options, statistics }: Pick<PoolInternals, "options" | "statistics">,
	nowMs: number,
): WorkerSnapshot {
	const { recycle } = options;
	const { pid, heartbeat, callsRunning: _, ...view } = viewOf(worker);
	return {
		...view,
		pid: pid ?? null,
		location: view.location ?? null,
		// In the order in which they began.
		running: worker.calls.attempts
			.slice(0, MOST_SHOWN)
			.map((attempt) => runningCall(attempt.view(), statistics, nowMs)),
		heartbeat: heartbeat ?? null,
		recycle: {
			inMs: left(recycle.afterMs, view.readyMs),
			inCalls: left(recycle.afterCalls, view.callsTaken),
			aboveResidentBytes: left(recycle.aboveResidentBytes, 0),
		},
		usage: null,
	};
}

function runningCall(
	{
		startedMs,
		reportedMs,
		caller,
		sessionId,
		failed,
		shape,
		args,
		...call
	}: AttemptView,
	{ usual }: Pick<StatisticsKeeper, "usual">,
	nowMs: number,
): RunningCall {
	return {
		...call,
		...(args !== undefined && { args }),
		forMs: nowMs - startedMs,
		reportedMs: reportedMs === undefined ? null : nowMs - reportedMs,
		usual: usualOf(call.command, shape, usual),
		sessionId: sessionId ?? null,
		cancelled: caller === "over",
		failedAttempts: failed.map(
			({ workerId, waitedMs, ranMs, code, pauseMs }) => {
				return { workerId, waitedMs, ranMs, code, pauseMs };
			},
		),
	};
}

/** A lease runs for as long as its holder wants, and a stream may be meant to run for ever. */
function usualOf(
	command: string,
	shape: AttemptView["shape"],
	usual: StatisticsKeeper["usual"],
): RunningCall["usual"] {
	if (shape === "lease") return null;
	const none = shape === "unary" ? { calls: 0, longestMs: 0 } : null;
	return usual.of(command) ?? none;
}

/** By slot; of one that is being replaced, first the one that came first. Their set has them in the order of their starts. */
function bySlot(workers: readonly Worker[]): readonly Worker[] {
	return workers
		.map((worker) => ({ worker, slot: slotOf(worker.ref.workerId) }))
		.toSorted((a, b) => a.slot - b.slot)
		.map(({ worker }) => worker);
}

/** The number at the end of a worker's id. */
function slotOf(workerId: string): number {
	return Number(workerId.slice(workerId.lastIndexOf("-") + 1));
}

/** What is left of a limit; `null` without one. */
function left(limit: number, used: number): number | null {
	return Number.isFinite(limit) ? Math.max(0, limit - used) : null;
}

function queueSnapshot(
	calls: readonly Call[],
	waiting: number,
	limit: number,
	nowMs: number,
): QueueSnapshot {
	const waits = calls.flatMap(({ state, priority, command }) =>
		state.kind === "waiting" || state.kind === "prefetched"
			? [{ sinceMs: state.sinceMs, priority, command }]
			: [],
	);
	const byCommand = countsOf(waits.map(({ command }) => command))
		.toSorted(([, a], [, b]) => b - a)
		.slice(0, MOST_SHOWN);
	const byPriority = countsOf(waits.map(({ priority }) => priority))
		.toSorted(([a], [b]) => b - a)
		.slice(0, MOST_SHOWN);
	const oldest = waits.reduce(
		(least, { sinceMs }) => Math.min(least, sinceMs),
		nowMs,
	);
	return {
		waiting,
		limit,
		counted: waits.length,
		oldestMs: waits.length === 0 ? null : nowMs - oldest,
		why: null,
		byPriority: byPriority.map(([priority, waiting]) => ({
			priority,
			waiting,
		})),
		byCommand: byCommand.map(([command, waiting]) => ({ command, waiting })),
	};
}

function countsOf<Key>(
	keys: readonly Key[],
): readonly (readonly [Key, number])[] {
	const counts = new Map<Key, number>();
	for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
	return [...counts];
}
