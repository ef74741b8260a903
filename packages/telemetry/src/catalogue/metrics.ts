import { type AttributeName, type Group, groupOf } from "./attributes.ts";

export type MetricKind =
	| "counter"
	| "histogram"
	/** Read when metrics are collected. */
	| "observed counter"
	| "observed up-down counter"
	| "observed gauge";

export interface MetricDefinition {
	readonly group: Group;
	readonly kind: MetricKind;
	/** In UCUM notation; braces name what is counted. */
	readonly unit: string;
	readonly description: string;
	/** Each has few values; none is a pid or an incarnation. */
	readonly attributes: readonly AttributeName[];
	/** Advised boundaries of a histogram, in its unit; a View overrides them. */
	readonly buckets?: readonly number[];
}

/** Boundaries of histograms, in seconds. */
const BUCKETS = {
	/** From a call that needs no process to one that takes minutes. */
	call: [
		0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
		10, 30, 60, 300,
	],
	start: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120],
	/** Fine around the targets: 100 ms for the 95th percentile, 1 s for the alert. */
	ping: [
		0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
		10,
	],
	cleanup: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
} as const;

/** Of pools: each has its pool as the first attribute. */
const OF_POOLS = /^snakepit\.(attempt|call|heartbeat|session|worker)\./;

/** Histograms are in seconds. */
const TABLE = {
	"snakepit.call.duration": {
		kind: "histogram",
		description:
			"From acceptance to settlement: the wait in the queue and every attempt.",
		attributes: ["snakepit.command", "snakepit.call.outcome", "error.type"],
		buckets: "call",
	},
	"snakepit.call.wait_time": {
		kind: "histogram",
		description: "How long an attempt waited for a worker.",
		buckets: "call",
	},
	"snakepit.attempt.duration": {
		kind: "histogram",
		description: "How long an attempt held its slot on a worker.",
		attributes: ["snakepit.command"],
		buckets: "call",
	},
	"snakepit.attempt.age": {
		kind: "observed gauge",
		unit: "s",
		description:
			"How long the oldest attempt has held its slot on a worker until now.",
		attributes: ["snakepit.command"],
	},
	"snakepit.call.retries": {
		kind: "counter",
		unit: "{retry}",
		description: "Attempts that failed and were retried.",
		attributes: ["error.type"],
	},
	"snakepit.call.failures": {
		kind: "counter",
		unit: "{call}",
		description:
			"Calls that failed or timed out, by the code of their error. Begins at 0 for the usual codes.",
		attributes: ["error.type"],
	},
	"snakepit.call.settled": {
		kind: "observed counter",
		unit: "{call}",
		description: "Calls that have ended.",
		attributes: ["snakepit.call.outcome"],
	},
	"snakepit.call.active": {
		kind: "observed up-down counter",
		unit: "{call}",
		description: "Attempts that hold a slot on a worker.",
	},
	"snakepit.call.queued": {
		kind: "observed up-down counter",
		unit: "{call}",
		description: "Calls that wait for a worker.",
	},
	"snakepit.call.queue.limit": {
		kind: "observed up-down counter",
		unit: "{call}",
		description: "How many calls may wait.",
	},
	"snakepit.session.count": {
		kind: "observed up-down counter",
		unit: "{session}",
		description: "Open sessions.",
	},
	"snakepit.worker.count": {
		kind: "observed up-down counter",
		unit: "{worker}",
		description: "Workers by state.",
		attributes: ["snakepit.worker.state"],
	},
	"snakepit.worker.min": {
		kind: "observed up-down counter",
		unit: "{worker}",
		description: "How many workers the pool has at least.",
	},
	"snakepit.worker.max": {
		kind: "observed up-down counter",
		unit: "{worker}",
		description: "How many workers the pool has at most.",
	},
	"snakepit.worker.starts": {
		kind: "counter",
		unit: "{start}",
		description: "Starts that began, restarts and replacements included.",
	},
	"snakepit.worker.start.duration": {
		kind: "histogram",
		description: "From the reservation to ready, or to the failure.",
		attributes: ["error.type"],
		buckets: "start",
	},
	"snakepit.worker.restarts": {
		kind: "counter",
		unit: "{restart}",
		description: "Starts that replace a worker, by the reason for its end.",
		attributes: ["snakepit.worker.end.reason"],
	},
	"snakepit.worker.restart_budget.spent": {
		kind: "counter",
		unit: "{time}",
		description:
			"How often the pool had spent its restart budget, and so waited with the next start.",
	},
	"snakepit.worker.exits": {
		kind: "counter",
		unit: "{exit}",
		description:
			"Processes that ended, by reason, by exit code or signal, and by who sent the signal.",
		attributes: [
			"snakepit.worker.end.reason",
			"process.exit.code",
			"snakepit.worker.exit.signal",
			"snakepit.worker.end.killer",
		],
	},
	"snakepit.worker.stop.duration": {
		kind: "histogram",
		description:
			"From the decision to stop a worker until all its processes are gone.",
		attributes: ["snakepit.worker.end.reason"],
		buckets: "cleanup",
	},
	"snakepit.worker.memory.usage": {
		kind: "observed up-down counter",
		unit: "By",
		description: "Resident memory of the worker's process group.",
		attributes: ["snakepit.worker.id"],
	},
	"snakepit.worker.cpu.time": {
		kind: "observed counter",
		unit: "s",
		description:
			"Processor time of the slot's process groups, over its incarnations.",
		attributes: ["snakepit.worker.id"],
	},
	"snakepit.heartbeat.sent": {
		kind: "counter",
		unit: "{ping}",
		description: "Pings that were sent.",
	},
	"snakepit.heartbeat.answered": {
		kind: "counter",
		unit: "{ping}",
		description: "Pings that were answered in time.",
	},
	"snakepit.heartbeat.missed": {
		kind: "counter",
		unit: "{ping}",
		description: "Pings that were not answered in time.",
	},
	"snakepit.heartbeat.suspended": {
		kind: "counter",
		unit: "{ping}",
		description:
			"Missed pings that were not held against a worker, since the host itself had not run.",
		attributes: ["snakepit.reason"],
	},
	"snakepit.heartbeat.duration": {
		kind: "histogram",
		description: "From a ping to its answer.",
		buckets: "ping",
	},
	"snakepit.cleanup.duration": {
		kind: "histogram",
		description: "How long the clean-up after dead runs took at a start.",
		buckets: "cleanup",
	},
	"snakepit.orphan.found": {
		kind: "counter",
		unit: "{process}",
		description: "Processes that a dead program or a dead worker left behind.",
	},
	"snakepit.orphan.killed": {
		kind: "counter",
		unit: "{process}",
		description: "Orphans that were ended.",
		attributes: ["snakepit.found_by"],
	},
	"snakepit.orphan.last_seen": {
		kind: "observed gauge",
		unit: "s",
		description:
			"When this program last found an orphan, as Unix time. A counter that is 1 from its first sample on shows no increase; this does.",
	},
	"snakepit.protection.last_activation": {
		kind: "observed gauge",
		unit: "s",
		description:
			"When this program last learned that a protection had seen the death of a host, as Unix time.",
	},
	"snakepit.protection.activations": {
		kind: "counter",
		unit: "{activation}",
		description: "Deaths of a host that a protection saw.",
		attributes: ["snakepit.protection.name"],
	},
	"snakepit.protection.kills": {
		kind: "counter",
		unit: "{process}",
		description: "Processes that a protection ended after its host had died.",
		attributes: ["snakepit.protection.name", "snakepit.found_by"],
	},
	"snakepit.registry.commits": {
		kind: "observed counter",
		unit: "{commit}",
		description: "Commits of the ledger.",
	},
	"snakepit.registry.commit.time": {
		kind: "observed counter",
		unit: "s",
		description:
			"Time that commits of the ledger took, during which the event loop was blocked.",
	},
	"snakepit.registry.unwritten": {
		kind: "observed up-down counter",
		unit: "{row}",
		description: "Rows that could not be written to the ledger yet.",
	},
	"snakepit.host.standstills": {
		kind: "counter",
		unit: "{standstill}",
		description:
			"How often the program did not run for two seconds or more, and went on: `stopped`, `suspended` with its machine, or `blocked`.",
		attributes: ["snakepit.reason"],
	},
	"snakepit.telemetry.dropped": {
		kind: "counter",
		unit: "{item}",
		description:
			"What telemetry or another listener lost: cut values, commands beyond the limit, listeners and exporters that threw, and exports that failed.",
		attributes: ["snakepit.drop.reason"],
	},
} as const;

export type MetricName = keyof typeof TABLE;

/** Every metric. Instruments, reference, dashboards and alerts are generated from it. */
export const METRICS: Readonly<Record<MetricName, MetricDefinition>> =
	Object.fromEntries(
		Object.entries(TABLE).map(([name, metric]) => [
			name,
			{
				group: groupOf(name),
				unit: "s",
				...metric,
				attributes: [
					...(OF_POOLS.test(name) ? ["snakepit.pool.name"] : []),
					...("attributes" in metric ? metric.attributes : []),
				],
				...("buckets" in metric && { buckets: BUCKETS[metric.buckets] }),
			},
		]),
	) as never;

/** How a metric reaches Prometheus; this determines its name there. */
export type NamingScheme =
	/** Scraped from `@opentelemetry/exporter-prometheus`: without units. */
	| "exporter"
	/** Sent as OTLP, to Prometheus itself or through the Collector: with units. */
	| "otlp";

const UNITS: Readonly<Record<string, string>> = { s: "_seconds", By: "_bytes" };

/** The name of a metric in Prometheus; of a histogram without `_bucket`, `_sum` or `_count`. */
export function prometheusName(
	metric: MetricName,
	scheme: NamingScheme,
): string {
	const { kind, unit } = METRICS[metric];
	const name = metric.replaceAll(".", "_");
	const inUnit = scheme === "otlp" ? (UNITS[unit] ?? "") : "";
	const total =
		kind === "counter" || kind === "observed counter" ? "_total" : "";
	return `${name}${inUnit}${total}`;
}
