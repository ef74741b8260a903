import type { MetricDefinition, MetricName } from "./metric-definition.ts";

/** From a call without a process in between to one that takes minutes. */
const CALL_SECONDS = [
	0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
	10, 30, 60, 300,
] as const;
const START_SECONDS = [
	0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120,
] as const;
/** Fine around the targets: 100 ms for the 95th percentile, 1 s for the alert. */
const LATENCY_SECONDS = [
	0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
	10,
] as const;
const CLEANUP_SECONDS = [
	0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
] as const;

const POOL = "snakepit.pool.name";

/** Every metric. Instruments, reference, dashboards and alerts are made from it. */
export const METRICS: Readonly<Record<MetricName, MetricDefinition>> = {
	"snakepit.call.duration": {
		group: "calls",
		kind: "histogram",
		unit: "s",
		description:
			"From acceptance to settlement: the wait in the queue and every attempt.",
		attributes: [
			POOL,
			"snakepit.command",
			"snakepit.call.outcome",
			"error.type",
		],
		buckets: CALL_SECONDS,
	},
	"snakepit.call.wait_time": {
		group: "calls",
		kind: "histogram",
		unit: "s",
		description: "How long an attempt waited for a worker.",
		attributes: [POOL],
		buckets: CALL_SECONDS,
	},
	"snakepit.attempt.duration": {
		group: "calls",
		kind: "histogram",
		unit: "s",
		description: "How long an attempt held its slot on a worker.",
		attributes: [POOL, "snakepit.command"],
		buckets: CALL_SECONDS,
	},
	"snakepit.call.retries": {
		group: "calls",
		kind: "counter",
		unit: "{retry}",
		description: "Attempts that failed and were made again.",
		attributes: [POOL, "error.type"],
	},
	"snakepit.call.active": {
		group: "calls",
		kind: "observed up-down counter",
		unit: "{call}",
		description: "Attempts that hold a slot on a worker.",
		attributes: [POOL],
	},
	"snakepit.call.queued": {
		group: "calls",
		kind: "observed up-down counter",
		unit: "{call}",
		description: "Calls that wait for a worker.",
		attributes: [POOL],
	},
	"snakepit.session.count": {
		group: "calls",
		kind: "observed up-down counter",
		unit: "{session}",
		description: "Open sessions.",
		attributes: [POOL],
	},
	"snakepit.worker.count": {
		group: "process",
		kind: "observed up-down counter",
		unit: "{worker}",
		description: "Workers by state.",
		attributes: [POOL, "snakepit.worker.state"],
	},
	"snakepit.worker.starts": {
		group: "process",
		kind: "counter",
		unit: "{start}",
		description: "Starts that began, restarts and replacements included.",
		attributes: [POOL],
	},
	"snakepit.worker.start.duration": {
		group: "process",
		kind: "histogram",
		unit: "s",
		description: "From the reservation to ready, or to the failure.",
		attributes: [POOL, "error.type"],
		buckets: START_SECONDS,
	},
	"snakepit.worker.restarts": {
		group: "process",
		kind: "counter",
		unit: "{restart}",
		description:
			"Starts that take the place of a worker, by why that one ended.",
		attributes: [POOL, "snakepit.worker.end.reason"],
	},
	"snakepit.worker.exits": {
		group: "process",
		kind: "counter",
		unit: "{exit}",
		description: "Processes that ended, by reason and by exit code or signal.",
		attributes: [
			POOL,
			"snakepit.worker.end.reason",
			"process.exit.code",
			"snakepit.worker.exit.signal",
		],
	},
	"snakepit.worker.stop.duration": {
		group: "process",
		kind: "histogram",
		unit: "s",
		description:
			"From the decision that a worker goes until nothing of it is left.",
		attributes: [POOL, "snakepit.worker.end.reason"],
		buckets: CLEANUP_SECONDS,
	},
	"snakepit.worker.memory.usage": {
		group: "process",
		kind: "observed up-down counter",
		unit: "By",
		description: "Resident memory of the worker's process group.",
		attributes: [POOL, "snakepit.worker.id"],
	},
	"snakepit.worker.cpu.time": {
		group: "process",
		kind: "observed counter",
		unit: "s",
		description:
			"Processor time of the slot's process groups, over its incarnations.",
		attributes: [POOL, "snakepit.worker.id"],
	},
	"snakepit.heartbeat.sent": {
		group: "heartbeat",
		kind: "counter",
		unit: "{ping}",
		description: "Pings that were sent.",
		attributes: [POOL],
	},
	"snakepit.heartbeat.answered": {
		group: "heartbeat",
		kind: "counter",
		unit: "{ping}",
		description: "Pings that were answered in time.",
		attributes: [POOL],
	},
	"snakepit.heartbeat.missed": {
		group: "heartbeat",
		kind: "counter",
		unit: "{ping}",
		description: "Pings that were not answered in time.",
		attributes: [POOL],
	},
	"snakepit.heartbeat.latency": {
		group: "heartbeat",
		kind: "histogram",
		unit: "s",
		description: "From a ping to its answer.",
		attributes: [POOL],
		buckets: LATENCY_SECONDS,
	},
	"snakepit.cleanup.duration": {
		group: "process",
		kind: "histogram",
		unit: "s",
		description: "How long the clean-up after dead runs took at a start.",
		attributes: [],
		buckets: CLEANUP_SECONDS,
	},
	"snakepit.orphan.found": {
		group: "process",
		kind: "counter",
		unit: "{process}",
		description: "Processes that a dead program or a dead worker left behind.",
		attributes: [],
	},
	"snakepit.orphan.killed": {
		group: "process",
		kind: "counter",
		unit: "{process}",
		description: "Orphans that were ended.",
		attributes: ["snakepit.found_by"],
	},
	"snakepit.orphan.last_seen": {
		group: "process",
		kind: "observed gauge",
		unit: "s",
		description:
			"When this program last found an orphan, as Unix time. A counter that is 1 from its first sample on shows no increase; this does.",
		attributes: [],
	},
	"snakepit.protection.last_activation": {
		group: "watchdog",
		kind: "observed gauge",
		unit: "s",
		description:
			"When this program last learned that a protection had seen the death of a host, as Unix time.",
		attributes: [],
	},
	"snakepit.protection.activations": {
		group: "watchdog",
		kind: "counter",
		unit: "{activation}",
		description: "Deaths of a host that a protection saw.",
		attributes: ["snakepit.protection.name"],
	},
	"snakepit.protection.kills": {
		group: "watchdog",
		kind: "counter",
		unit: "{process}",
		description: "Processes that a protection ended after its host had died.",
		attributes: ["snakepit.protection.name", "snakepit.found_by"],
	},
	"snakepit.registry.commits": {
		group: "process",
		kind: "observed counter",
		unit: "{commit}",
		description: "Commits of the ledger.",
		attributes: [],
	},
	"snakepit.registry.commit.time": {
		group: "process",
		kind: "observed counter",
		unit: "s",
		description:
			"Time that commits of the ledger took, during which the event loop stood.",
		attributes: [],
	},
	"snakepit.registry.unwritten": {
		group: "process",
		kind: "observed up-down counter",
		unit: "{row}",
		description: "Rows that could not be written to the ledger yet.",
		attributes: [],
	},
	"snakepit.telemetry.dropped": {
		group: "telemetry",
		kind: "counter",
		unit: "{item}",
		description:
			"What telemetry or another listener lost: values cut, commands not told apart, listeners and exporters that threw.",
		attributes: ["snakepit.drop.reason"],
	},
};
