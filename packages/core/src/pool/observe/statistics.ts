import { createHistogram } from "node:perf_hooks";
import type { AuditStatistics } from "../../audit/auditor.ts";
import type { RemoteUsage, WorkerLocation } from "../../contract/connection.ts";
import type { CallOutcome } from "../../contract/events.ts";
import type { RunningCommand, WorkerUsage } from "../../contract/instrument.ts";
import type { RegistryStatistics } from "../../contract/process-registry.ts";
import type { WorkerState } from "../../contract/run-and-worker-states.ts";
import type { ProcessFacts, ProcessHost } from "../../contract/world.ts";
import type { HeartbeatStatistics } from "../../heartbeat/heartbeat-monitor.ts";
import type { Worker } from "../../worker/worker.ts";
import { BucketCounts } from "./metrics-text.ts";
import { CallFailures, type MeasuredDurations } from "./pool-metrics.ts";
import { RecentCalls } from "./recent-calls.ts";
import { UsualDurations } from "./usual-durations.ts";

/** One worker as it is now. */
export interface WorkerView {
	readonly workerId: string;
	readonly incarnation: string;
	/** `undefined` before it is spawned. */
	readonly pid: number | undefined;
	readonly state: WorkerState;
	readonly callsRunning: number;
	readonly callsTaken: number;
	/** How long it has been ready, in milliseconds. */
	readonly readyMs: number;
	/** `undefined` before it is ready, and without heartbeat. */
	readonly heartbeat: HeartbeatStatistics | undefined;
	/** The machine that it runs on, if that is not this one. */
	readonly location: WorkerLocation | undefined;
	/** What its adapter reports about it, such as versions and capabilities; may be empty. */
	readonly facts: Readonly<Record<string, unknown>>;
}

export interface PoolStatistics {
	readonly workers: Readonly<Record<WorkerState, number>>;
	/** The minimum and maximum number of workers, as last set by `resize`. */
	readonly size: { readonly min: number; readonly max: number };
	/** `"paused"`: calls wait until `resume`. */
	readonly dispatch: "running" | "paused";
	readonly restarts: number;
	readonly calls: {
		/** Every call made while the pool was open, including those refused with `QUEUE_FULL`. */
		readonly accepted: number;
		readonly waiting: number;
		readonly running: number;
	} & Readonly<Record<CallOutcome, number>>;
	readonly sessions: number;
	/** How long calls waited for a worker. */
	readonly queueWait: DurationSummary;
	/** How long calls ran on a worker. */
	readonly run: DurationSummary;
	/** From acceptance to settlement. */
	readonly total: DurationSummary;
	readonly registry: RegistryStatistics;
	/** Of the whole run, which the program's pools share. */
	readonly audit: AuditStatistics;
}

export function viewOf(worker: Worker): WorkerView {
	return {
		workerId: worker.ref.workerId,
		incarnation: worker.ref.incarnation,
		pid: worker.pid,
		state: worker.state,
		callsRunning: worker.calls.attempts.length,
		callsTaken: worker.calls.taken,
		readyMs: worker.readyMs,
		heartbeat: worker.heartbeat?.statistics(),
		location: worker.connection?.location,
		facts: worker.connection?.facts ?? {},
	};
}

/** Of each command that runs, how long its oldest attempt has. */
export function oldestAttempts(
	workers: readonly Worker[],
	nowMs: number,
): readonly RunningCommand[] {
	const sinceMs = new Map<string, number>();
	for (const { calls } of workers)
		for (const attempt of calls.attempts) {
			const { command, startedMs } = attempt.view();
			const oldestMs = sinceMs.get(command) ?? startedMs;
			sinceMs.set(command, Math.min(oldestMs, startedMs));
		}
	return [...sinceMs].map(([command, startedMs]) => ({
		command,
		forMs: nowMs - startedMs,
	}));
}

/** Counts what happens in one pool. */
export class StatisticsKeeper {
	/** Calls that did not succeed. */
	readonly failures: CallFailures = new CallFailures();
	/** How long each attempt waited before it began. */
	readonly queueWait: DurationHistogram = new DurationHistogram();
	/** How long each attempt ran. */
	readonly run: DurationHistogram = new DurationHistogram();
	/** How long each call took. */
	readonly total: DurationHistogram = new DurationHistogram();
	/** Of calls that ended by themselves, by command. */
	readonly usual: UsualDurations = new UsualDurations();
	readonly outcomes: Record<CallOutcome, number> = {
		succeeded: 0,
		failed: 0,
		aborted: 0,
		timed_out: 0,
	};
	/** Of the last minute. */
	readonly recent: RecentCalls = new RecentCalls(this.outcomes);
	accepted = 0;

	/** For the metrics of the pool. */
	get durations(): MeasuredDurations {
		return {
			waits: this.queueWait.buckets,
			attempts: this.run.buckets,
			calls: this.total.buckets,
			failures: this.failures,
		};
	}

	view(now: {
		readonly size: PoolStatistics["size"];
		readonly dispatch: PoolStatistics["dispatch"];
		readonly waiting: number;
		readonly running: number;
		readonly sessions: number;
		readonly restarts: number;
		readonly workers: readonly Worker[];
		readonly registry: RegistryStatistics;
		readonly audit: AuditStatistics;
	}): PoolStatistics {
		const workers: Record<WorkerState, number> = {
			starting: 0,
			ready: 0,
			draining: 0,
			stopping: 0,
			exited: 0,
		};
		for (const worker of now.workers) workers[worker.state]++;
		return {
			workers,
			size: now.size,
			dispatch: now.dispatch,
			restarts: now.restarts,
			calls: {
				accepted: this.accepted,
				waiting: now.waiting,
				running: now.running,
				...this.outcomes,
			},
			sessions: now.sessions,
			queueWait: this.queueWait.summary(),
			run: this.run.summary(),
			total: this.total.summary(),
			registry: now.registry,
			audit: now.audit,
		};
	}
}

/** A summary of many durations, in milliseconds. */
interface DurationSummary {
	readonly count: number;
	readonly minMs: number;
	readonly meanMs: number;
	readonly p50Ms: number;
	readonly p90Ms: number;
	readonly p99Ms: number;
	readonly maxMs: number;
}

const MICROSECONDS = 1_000;

/** So many durations are counted together: by itself, each takes longer. */
const COUNTED_TOGETHER = 256;

/** Counts durations in constant memory, to three significant digits, and by the buckets of metrics. */
export class DurationHistogram {
	readonly #buckets = new BucketCounts();
	readonly #waiting = new Float64Array(COUNTED_TOGETHER);
	#waitingCount = 0;
	readonly #histogram = createHistogram({
		lowest: 1,
		highest: 86_400_000 * MICROSECONDS,
		figures: 3,
	});

	record(ms: number): void {
		this.#waiting[this.#waitingCount++] = ms;
		if (this.#waitingCount === COUNTED_TOGETHER) this.#count();
	}

	get buckets(): BucketCounts {
		this.#count();
		return this.#buckets;
	}

	#count(): void {
		for (const ms of this.#waiting.subarray(0, this.#waitingCount)) {
			// The histogram takes whole numbers from 1 on: microseconds, at least one.
			this.#histogram.record(
				Math.min(
					86_400_000 * MICROSECONDS,
					Math.max(1, Math.round(ms * MICROSECONDS)),
				),
			);
			this.#buckets.record(ms);
		}
		this.#waitingCount = 0;
	}

	summary(): DurationSummary {
		this.#count();
		const h = this.#histogram;
		if (h.count === 0)
			return {
				count: 0,
				minMs: 0,
				meanMs: 0,
				p50Ms: 0,
				p90Ms: 0,
				p99Ms: 0,
				maxMs: 0,
			};
		return {
			count: h.count,
			minMs: h.min / MICROSECONDS,
			meanMs: h.mean / MICROSECONDS,
			p50Ms: h.percentile(50) / MICROSECONDS,
			p90Ms: h.percentile(90) / MICROSECONDS,
			p99Ms: h.percentile(99) / MICROSECONDS,
			maxMs: h.max / MICROSECONDS,
		};
	}
}

/**
 * What workers use now, their children included, by one look at the process table for all; of those on another machine
 * what was measured there last. Those without a process, or without a measurement, are left out.
 */
export function workersUsage(
	workers: readonly Worker[],
	host: ProcessHost,
): readonly WorkerUsage[] {
	const here = workers.filter(
		({ connection }) => connection?.usage === undefined,
	);
	const members = host.membersOf(here.flatMap(({ groupId }) => groupId ?? []));
	return workers.flatMap((worker) => {
		const { connection, groupId, ref } = worker;
		const used =
			connection?.usage === undefined
				? sumOf(members.get(groupId ?? -1) ?? [])
				: connection.usage();
		if (used === undefined) return [];
		const { residentBytes, cpuTimeMs } = used;
		return [{ ...ref, residentBytes, cpuTimeMs }];
	});
}

function sumOf(facts: readonly ProcessFacts[]): RemoteUsage | undefined {
	if (facts.length === 0) return undefined;
	return {
		residentBytes: facts.reduce((sum, each) => sum + each.residentBytes, 0),
		cpuTimeMs: facts.reduce((sum, each) => sum + each.cpuTimeMs, 0),
	};
}
