import type {
	PoolSnapshot,
	QueueSnapshot,
	WorkerSnapshot,
} from "@snakepit/control/server";
import type { ResolvedOptions } from "../../options/pool-options.ts";
import type { Worker } from "../../worker/worker.ts";
import type { Call } from "../calls/call.ts";
import type { PoolInternals } from "../pool-internals.ts";
import type { PoolLife } from "../pool-life.ts";
import { healthOf, type PoolHealth } from "./health.ts";
import { viewOf } from "./statistics.ts";

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
		workers: workerSet
			.workers()
			.map((worker) => workerSnapshot(worker, options, nowMs)),
		restarts: workerSet.restarts,
		starts: workerSet.startsView(),
		lastFailure: internals.lastFailure.failure,
		sessions: sessions.size,
		calls: {
			accepted: statistics.accepted,
			waiting: placement.waiting,
			running: outstanding.running,
			...statistics.outcomes,
		},
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
	{ recycle }: ResolvedOptions,
	nowMs: number,
): WorkerSnapshot {
	const { pid, heartbeat, callsRunning: _, ...view } = viewOf(worker);
	const running = worker.calls.attempts.map((attempt) => attempt.view());
	return {
		...view,
		pid: pid ?? null,
		location: view.location ?? null,
		// In the order in which they began.
		running: running
			.slice(0, MOST_SHOWN)
			.map(({ startedMs, caller, sessionId, failed, ...call }) => ({
				...call,
				forMs: nowMs - startedMs,
				sessionId: sessionId ?? null,
				cancelled: caller === "over",
				failedAttempts: failed.map(
					({ workerId, waitedMs, ranMs, code, pauseMs }) => {
						return { workerId, waitedMs, ranMs, code, pauseMs };
					},
				),
			})),
		heartbeat: heartbeat ?? null,
		recycle: {
			inMs: left(recycle.afterMs, view.readyMs),
			inCalls: left(recycle.afterCalls, view.callsTaken),
			aboveResidentBytes: left(recycle.aboveResidentBytes, 0),
		},
		usage: null,
	};
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
