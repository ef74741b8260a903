import type { AuditStatistics } from "../../audit/auditor.ts";
import type { CleanupReport } from "../../cleanup/cleanup-report.ts";
import type { Clock } from "../../contract/clock.ts";
import type { CallOutcome, EventOf } from "../../contract/events.ts";
import {
	LOSS_CODES,
	USUAL_CODES,
	type WorkerUsage,
} from "../../contract/instrument.ts";
import type {
	EndReason,
	RegistryStatistics,
} from "../../contract/process-registry.ts";
import type { EventHub } from "./event-hub.ts";
import {
	BUCKETS,
	BucketCounts,
	type MetricFamily,
	type MetricReading,
	type MetricSample,
} from "./metrics-text.ts";
import type { PoolStatistics } from "./statistics.ts";

type Labels = MetricSample["labels"];

// The names and labels are those that `@snakepit/telemetry` has in Prometheus, so that dashboards fit both. A test of
// that package compares them.

const POOL = "snakepit_pool_name";
const CODE = "error_type";
const OUTCOME = "snakepit_call_outcome";
const REASON = "snakepit_worker_end_reason";
const WHY = "snakepit_reason";

/** Adapters have codes of their own, and a metric has few series: beyond so many, all others are one. */
const MOST_CODES = 50;
const MOST_SERIES = 100;
const OTHER = "_OTHER";

/** Calls that did not succeed, and after which time. */
export class CallFailures {
	/** By outcome and code. */
	readonly #byKind = new Map<string, BucketCounts>();

	record(outcome: CallOutcome, code: string, ms: number): void {
		this.#of(outcome, code).record(ms);
	}

	/** How many failed or timed out, by code. */
	counts(labels: Labels): readonly MetricSample[] {
		// The first value of a series shows no increase: what is watched begins at 0.
		const byCode = new Map(USUAL_CODES.map((code) => [code, 0]));
		for (const [key, { count }] of this.#byKind) {
			const [outcome = "", code = ""] = key.split(" ");
			if (outcome === "aborted") continue;
			byCode.set(code, (byCode.get(code) ?? 0) + count);
		}
		return [...byCode].map(([code, value]) => ({
			labels: { ...labels, [CODE]: code },
			value,
		}));
	}

	/** How long calls took, by how they ended. @param all of the pool, those that succeeded included. */
	durations(all: BucketCounts, labels: Labels): readonly MetricSample[] {
		const succeeded = all.without([...this.#byKind.values()]);
		return [
			...succeeded.samples({ ...labels, [OUTCOME]: "succeeded" }),
			...[...this.#byKind].flatMap(([key, counts]) => {
				const [outcome = "", code = ""] = key.split(" ");
				return counts.samples({ ...labels, [OUTCOME]: outcome, [CODE]: code });
			}),
		];
	}

	#of(outcome: CallOutcome, code: string): BucketCounts {
		const known = this.#byKind.get(`${outcome} ${code}`);
		if (known !== undefined) return known;
		const name = this.#byKind.size < MOST_CODES ? code : OTHER;
		const key = `${outcome} ${name}`;
		const counts = this.#byKind.get(key) ?? new BucketCounts();
		this.#byKind.set(key, counts);
		return counts;
	}
}

/** A counter with its series. */
class Counter {
	readonly #series = new Map<string, { labels: Labels; value: number }>();

	add(labels: Labels, value = 1): void {
		const key = JSON.stringify(labels);
		const series = this.#series.get(key);
		if (series !== undefined) series.value += value;
		else if (this.#series.size < MOST_SERIES || isOther(labels))
			this.#series.set(key, { labels, value });
		else this.add(otherOf(labels), value);
	}

	samples(labels: Labels): readonly MetricSample[] {
		return [...this.#series.values()].map((series) => ({
			labels: { ...labels, ...series.labels },
			value: series.value,
		}));
	}
}

function isOther(labels: Labels): boolean {
	return Object.values(labels).every((value) => value === OTHER);
}

function otherOf(labels: Labels): Labels {
	return Object.fromEntries(Object.keys(labels).map((name) => [name, OTHER]));
}

/** Reasons that are failures. */
const FAILURES: readonly EndReason[] = [
	...(["exited", "start_failed", "hung", "broken", "stuck"] as const),
	"vanished",
];

/** Why missed pings are not held against a worker. */
const SUSPENSIONS: readonly EventOf<"heartbeat.suspended">["reason"][] = [
	"host_lagged",
	"clock_jumped",
	"debugger",
];

/** How many workers that ended are remembered until their place is taken again. */
const ENDS = 1_024;

const COUNTED: readonly CountedEvent["type"][] = [
	"worker.starting",
	"worker.ready",
	"worker.start_failed",
	"worker.exited",
	"call.retried",
	"heartbeat.sent",
	"heartbeat.answered",
	"heartbeat.missed",
	"heartbeat.suspended",
	"pool.restart_budget_spent",
];

type CountedEvent = EventOf<
	| "worker.starting"
	| "worker.ready"
	| "worker.start_failed"
	| "worker.exited"
	| "call.retried"
	| "heartbeat.sent"
	| "heartbeat.answered"
	| "heartbeat.missed"
	| "heartbeat.suspended"
	| "pool.restart_budget_spent"
>;

/** Counts what happens in a pool beside its calls: that is rare, and has events. */
export class EventCounts {
	readonly retries: Counter = new Counter();
	readonly starts: Counter = new Counter();
	readonly restarts: Counter = new Counter();
	readonly exits: Counter = new Counter();
	readonly pings: Counter = new Counter();
	readonly answers: Counter = new Counter();
	readonly missed: Counter = new Counter();
	readonly suspended: Counter = new Counter();
	readonly budgetsSpent: Counter = new Counter();
	readonly pingTimes: BucketCounts = new BucketCounts(BUCKETS.ping);
	readonly #started = new BucketCounts(BUCKETS.start);
	readonly #notStarted = new Map<string, BucketCounts>();
	/** When a start began, by incarnation. */
	readonly #startingMs = new Map<string, number>();
	/** Why workers ended, by incarnation. */
	readonly #ends = new Map<string, EndReason>();

	constructor(hub: Pick<EventHub, "recordWith">) {
		const { starts, pings, answers, missed, budgetsSpent } = this;
		for (const counter of [starts, pings, answers, missed, budgetsSpent])
			counter.add({}, 0);
		for (const reason of SUSPENSIONS) this.suspended.add({ [WHY]: reason }, 0);
		for (const code of LOSS_CODES) this.retries.add({ [CODE]: code }, 0);
		for (const reason of FAILURES) this.restarts.add({ [REASON]: reason }, 0);
		hub.recordWith((event) => this.#count(event as CountedEvent), COUNTED);
	}

	startSamples(labels: Labels): readonly MetricSample[] {
		return [
			...this.#started.samples(labels),
			...[...this.#notStarted].flatMap(([code, counts]) =>
				counts.samples({ ...labels, [CODE]: code }),
			),
		];
	}

	#count(event: CountedEvent): void {
		switch (event.type) {
			case "worker.starting":
				this.#starting(event);
				break;
			case "worker.ready":
				this.#startingMs.delete(event.incarnation);
				this.#started.record(event.durationMs);
				break;
			case "worker.start_failed":
				this.#startFailed(event);
				break;
			case "worker.exited":
				this.#exited(event);
				break;
			case "call.retried":
				this.retries.add({ [CODE]: event.because });
				break;
			case "heartbeat.sent":
				this.pings.add({});
				break;
			case "heartbeat.answered":
				this.answers.add({});
				this.pingTimes.record(event.latencyMs);
				break;
			case "heartbeat.missed":
				this.missed.add({});
				break;
			case "heartbeat.suspended":
				this.suspended.add({ [WHY]: event.reason });
				break;
			case "pool.restart_budget_spent":
				this.budgetsSpent.add({});
		}
	}

	#starting({
		incarnation,
		replaces,
		wallMs,
	}: EventOf<"worker.starting">): void {
		this.#startingMs.set(incarnation, wallMs);
		this.starts.add({});
		if (replaces === undefined) return;
		// A worker that is still there is replaced because it is worn.
		const reason = this.#ends.get(replaces) ?? "recycled";
		this.#ends.delete(replaces);
		this.restarts.add({ [REASON]: reason });
	}

	#startFailed(event: EventOf<"worker.start_failed">): void {
		const { incarnation, wallMs, error } = event;
		const begunMs = this.#startingMs.get(incarnation) ?? wallMs;
		this.#startingMs.delete(incarnation);
		const { code = "UNEXPECTED" } = error as { readonly code?: string };
		const isNew = !this.#notStarted.has(code);
		const name = isNew && this.#notStarted.size >= MOST_CODES ? OTHER : code;
		const counts =
			this.#notStarted.get(name) ?? new BucketCounts(BUCKETS.start);
		this.#notStarted.set(name, counts);
		counts.record(Math.max(0, wallMs - begunMs));
	}

	#exited({
		incarnation,
		reason,
		exit,
		killer,
	}: EventOf<"worker.exited">): void {
		this.#startingMs.delete(incarnation);
		const [oldest] = this.#ends.keys();
		if (this.#ends.size >= ENDS && oldest !== undefined)
			this.#ends.delete(oldest);
		this.#ends.set(incarnation, reason);
		this.exits.add({
			[REASON]: reason,
			...(exit?.kind === "code" && { process_exit_code: String(exit.code) }),
			...(exit?.kind === "signal" && {
				snakepit_worker_exit_signal: exit.signal,
			}),
			snakepit_worker_end_killer: killer,
		});
	}
}

/** Two readings of the process table are not closer to each other: it takes milliseconds. */
const USAGE_MS = 2_000;

/** What the slots of a pool use: a worker and its replacement share one. */
export class SlotUsage {
	readonly #read: () => readonly WorkerUsage[];
	readonly #clock: Pick<Clock, "now">;
	#readMs = Number.NEGATIVE_INFINITY;
	#latest: readonly WorkerUsage[] = [];
	/** By worker id: the processor time of incarnations that have ended, and of those that live. */
	readonly #slots = new Map<
		string,
		{ goneMs: number; readonly livingMs: Map<string, number> }
	>();

	constructor(read: () => readonly WorkerUsage[], clock: Pick<Clock, "now">) {
		this.#read = read;
		this.#clock = clock;
	}

	/** Resident bytes of each slot, and seconds of processor time, which never become less. */
	samples(labels: Labels): Record<"bytes" | "seconds", MetricSample[]> {
		this.#look();
		const samples = {
			bytes: [] as MetricSample[],
			seconds: [] as MetricSample[],
		};
		const bySlot = Map.groupBy(this.#latest, ({ workerId }) => workerId);
		for (const [workerId, usages] of bySlot) {
			const ofSlot = { ...labels, snakepit_worker_id: workerId };
			const bytes = usages.reduce((sum, each) => sum + each.residentBytes, 0);
			samples.bytes.push({ labels: ofSlot, value: bytes });
			const seconds = this.#cpuMs(workerId, usages) / 1_000;
			samples.seconds.push({ labels: ofSlot, value: seconds });
		}
		return samples;
	}

	#look(): void {
		const nowMs = this.#clock.now();
		if (nowMs - this.#readMs < USAGE_MS) return;
		this.#readMs = nowMs;
		try {
			this.#latest = this.#read();
		} catch {
			// The process table cannot be read now: then this is left out.
			this.#latest = [];
		}
	}

	#cpuMs(workerId: string, usages: readonly WorkerUsage[]): number {
		const slot = this.#slots.get(workerId) ?? {
			goneMs: 0,
			livingMs: new Map<string, number>(),
		};
		this.#slots.set(workerId, slot);
		for (const [incarnation, ms] of slot.livingMs) {
			if (usages.some((each) => each.incarnation === incarnation)) continue;
			slot.livingMs.delete(incarnation);
			slot.goneMs += ms;
		}
		let sum = slot.goneMs;
		for (const { incarnation, cpuTimeMs } of usages) {
			// A reading does not have the time of children that have ended.
			const ms = Math.max(cpuTimeMs, slot.livingMs.get(incarnation) ?? 0);
			slot.livingMs.set(incarnation, ms);
			sum += ms;
		}
		return sum;
	}
}

/**
 * When something happened last in a run, in milliseconds since the Unix epoch: a counter that is 1 from its first
 * sample on shows no increase. Standstills are counted.
 */
export class Sightings {
	/** An orphan was found. */
	orphanMs: number | undefined;
	/** The run learned that a protection had seen the death of a host. */
	activationMs: number | undefined;
	/** How often the program stood still, and went on. */
	readonly standstills: Record<EventOf<"host.stood_still">["kind"], number> = {
		...{ stopped: 0, suspended: 0, blocked: 0 },
	};

	constructor(hub: Pick<EventHub, "recordWith">, clock: Pick<Clock, "wall">) {
		hub.recordWith(
			(event) => {
				if (event.type === "host.stood_still") this.standstills[event.kind]++;
				else if (event.type === "protection.host_death_detected")
					this.activationMs = clock.wall();
				else this.orphanMs = clock.wall();
			},
			[
				"orphan.reaped",
				"orphan.spared",
				"audit.stray_found",
				"protection.host_death_detected",
				"host.stood_still",
			],
		);
	}
}

/** How long what took in a pool. */
export interface MeasuredDurations {
	readonly waits: BucketCounts;
	readonly attempts: BucketCounts;
	/** All calls that have ended. */
	readonly calls: BucketCounts;
	/** Those of them that did not succeed. */
	readonly failures: CallFailures;
}

/** What the metrics of a run are read from. */
export interface MeasuredRun {
	readonly registry: RegistryStatistics;
	readonly audit: AuditStatistics;
	readonly cleanupReport: CleanupReport;
	readonly sightings: Pick<
		Sightings,
		"orphanMs" | "activationMs" | "standstills"
	>;
}

/** What the metrics of a pool are read from. */
export interface MeasuredPool
	extends Pick<MeasuredRun, "cleanupReport" | "sightings">,
		Pick<MetricReading, "source"> {
	readonly name: string;
	readonly runId: string;
	readonly queueLimit: number;
	/** How long the oldest attempt has run; 0 when none does. */
	readonly oldestMs: number;
	readonly statistics: PoolStatistics;
	readonly durations: MeasuredDurations;
	readonly events: EventCounts;
	readonly usage: SlotUsage;
}

/** The metrics of a pool, and of its run. */
export function poolReading({
	source,
	name,
	runId,
	queueLimit,
	oldestMs,
	statistics,
	durations,
	events,
	usage,
	cleanupReport,
	sightings,
}: MeasuredPool): MetricReading {
	const pool = { [POOL]: name };
	const gauge = (value: number, labels: Labels = {}): MetricSample => ({
		labels: { ...pool, ...labels },
		value,
	});
	const { workers, size, calls, sessions, registry, audit } = statistics;
	const { bytes, seconds } = usage.samples(pool);
	return {
		source,
		runId,
		families: [
			family(
				"call_duration_seconds",
				durations.failures.durations(durations.calls, pool),
			),
			family("call_wait_time_seconds", durations.waits.samples(pool)),
			family("attempt_duration_seconds", durations.attempts.samples(pool)),
			family("call_retries_total", events.retries.samples(pool)),
			family("call_failures_total", durations.failures.counts(pool)),
			family(
				"call_settled_total",
				(["succeeded", "failed", "aborted", "timed_out"] as const).map(
					(outcome) => gauge(calls[outcome], { [OUTCOME]: outcome }),
				),
			),
			family("call_active", [gauge(calls.running)]),
			family("attempt_age_seconds", [gauge(oldestMs / 1_000)]),
			family("call_queued", [gauge(calls.waiting)]),
			family("call_queue_limit", [gauge(queueLimit)]),
			family("session_count", [gauge(sessions)]),
			family(
				"worker_count",
				(["starting", "ready", "draining", "stopping"] as const).map((state) =>
					gauge(workers[state], { snakepit_worker_state: state }),
				),
			),
			family("worker_min", [gauge(size.min)]),
			family("worker_max", [gauge(size.max)]),
			family("worker_starts_total", events.starts.samples(pool)),
			family("worker_start_duration_seconds", events.startSamples(pool)),
			family("worker_restarts_total", events.restarts.samples(pool)),
			family(
				"worker_restart_budget_spent_total",
				events.budgetsSpent.samples(pool),
			),
			family("worker_exits_total", events.exits.samples(pool)),
			family("worker_memory_usage_bytes", bytes),
			family("worker_cpu_time_seconds_total", seconds),
			family("heartbeat_sent_total", events.pings.samples(pool)),
			family("heartbeat_answered_total", events.answers.samples(pool)),
			family("heartbeat_missed_total", events.missed.samples(pool)),
			family("heartbeat_suspended_total", events.suspended.samples(pool)),
			family("heartbeat_duration_seconds", events.pingTimes.samples(pool)),
		],
		ofRun: runFamilies({ registry, audit, cleanupReport, sightings }),
	};
}

/** The metrics of a run, whether it has pools or not. */
export function runFamilies({
	registry: { commits, commitMs, unwritten },
	audit: { straysFound, straysKilled },
	cleanupReport: { found, reaped },
	sightings: { orphanMs, activationMs, standstills },
}: MeasuredRun): readonly MetricFamily[] {
	const one = (value: number, labels: Labels = {}): MetricSample[] => [
		{ labels, value },
	];
	const at = (ms: number | undefined): readonly MetricSample[] =>
		ms === undefined ? [] : one(ms / 1_000);
	const killed = new Map<string, number>([
		["ledger", 0],
		["marker", straysKilled],
	]);
	for (const { foundBy } of reaped)
		killed.set(foundBy, (killed.get(foundBy) ?? 0) + 1);
	return [
		family("registry_commits_total", one(commits)),
		family("registry_commit_time_seconds_total", one(commitMs / 1_000)),
		family("registry_unwritten", one(unwritten)),
		family("orphan_found_total", one(found + straysFound)),
		family(
			"orphan_killed_total",
			[...killed].flatMap(([foundBy, value]) =>
				one(value, { snakepit_found_by: foundBy }),
			),
		),
		family("orphan_last_seen_seconds", at(orphanMs)),
		family("protection_last_activation_seconds", at(activationMs)),
		family(
			"host_standstills_total",
			Object.entries(standstills).flatMap(([kind, value]) =>
				one(value, { [WHY]: kind }),
			),
		),
	];
}

const HELP = {
	call_duration_seconds:
		"From acceptance to settlement: the wait in the queue and every attempt.",
	call_wait_time_seconds: "How long an attempt waited for a worker.",
	attempt_duration_seconds: "How long an attempt held its slot on a worker.",
	call_retries_total: "Attempts that failed and were retried.",
	call_failures_total:
		"Calls that failed or timed out, by the code of their error. Begins at 0 for the usual codes.",
	call_settled_total: "Calls that have ended.",
	call_active: "Attempts that hold a slot on a worker.",
	attempt_age_seconds:
		"How long the oldest attempt has held its slot on a worker until now.",
	call_queued: "Calls that wait for a worker.",
	call_queue_limit: "How many calls may wait.",
	session_count: "Open sessions.",
	worker_count: "Workers by state.",
	worker_min: "How many workers the pool has at least.",
	worker_max: "How many workers the pool has at most.",
	worker_starts_total: "Starts that began, restarts and replacements included.",
	worker_start_duration_seconds:
		"From the reservation to ready, or to the failure.",
	worker_restarts_total:
		"Starts that replace a worker, by the reason for its end.",
	worker_restart_budget_spent_total:
		"How often the pool had spent its restart budget, and so waited with the next start.",
	worker_exits_total:
		"Processes that ended, by reason, by exit code or signal, and by who sent the signal.",
	worker_memory_usage_bytes: "Resident memory of the worker's process group.",
	worker_cpu_time_seconds_total:
		"Processor time of the slot's process groups, over its incarnations.",
	heartbeat_sent_total: "Pings that were sent.",
	heartbeat_answered_total: "Pings that were answered in time.",
	heartbeat_missed_total: "Pings that were not answered in time.",
	heartbeat_suspended_total:
		"Missed pings that were not held against a worker, since the host itself had not run.",
	heartbeat_duration_seconds: "From a ping to its answer.",
	registry_commits_total: "Commits of the ledger.",
	registry_commit_time_seconds_total:
		"Time that commits of the ledger took, during which the event loop was blocked.",
	registry_unwritten: "Rows that could not be written to the ledger yet.",
	orphan_found_total:
		"Processes that a dead program or a dead worker left behind.",
	orphan_killed_total: "Orphans that were ended.",
	orphan_last_seen_seconds:
		"When this program last found an orphan, as Unix time. A counter that is 1 from its first sample on shows no increase; this does.",
	protection_last_activation_seconds:
		"When this program last learned that a protection had seen the death of a host, as Unix time.",
	host_standstills_total:
		"How often the program did not run for two seconds or more, and went on: `stopped`, `suspended` with its machine, or `blocked`.",
} as const;

function family(
	name: keyof typeof HELP,
	samples: readonly MetricSample[],
): MetricFamily {
	const type = name.endsWith("_total")
		? "counter"
		: /_(duration|time)_seconds$/.test(name)
			? "histogram"
			: "gauge";
	return { name: `snakepit_${name}`, type, help: HELP[name], samples };
}
