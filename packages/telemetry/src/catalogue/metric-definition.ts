import type { AttributeName } from "./attributes.ts";
import type { Group } from "./groups.ts";

export type MetricName =
	| "snakepit.call.duration"
	| "snakepit.call.wait_time"
	| "snakepit.attempt.duration"
	| "snakepit.call.retries"
	| "snakepit.call.active"
	| "snakepit.call.queued"
	| "snakepit.session.count"
	| "snakepit.worker.count"
	| "snakepit.worker.starts"
	| "snakepit.worker.start.duration"
	| "snakepit.worker.restarts"
	| "snakepit.worker.exits"
	| "snakepit.worker.stop.duration"
	| "snakepit.worker.memory.usage"
	| "snakepit.worker.cpu.time"
	| "snakepit.heartbeat.sent"
	| "snakepit.heartbeat.answered"
	| "snakepit.heartbeat.missed"
	| "snakepit.heartbeat.latency"
	| "snakepit.cleanup.duration"
	| "snakepit.orphan.found"
	| "snakepit.orphan.killed"
	| "snakepit.orphan.last_seen"
	| "snakepit.protection.activations"
	| "snakepit.protection.last_activation"
	| "snakepit.protection.kills"
	| "snakepit.registry.commits"
	| "snakepit.registry.commit.time"
	| "snakepit.registry.unwritten"
	| "snakepit.telemetry.dropped";

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
	/** As UCUM writes it; in braces what is counted. */
	readonly unit: string;
	readonly description: string;
	/** Each takes few values; none is a pid or an incarnation. */
	readonly attributes: readonly AttributeName[];
	/** Advice for the boundaries of a histogram, in its unit; a View overrides it. */
	readonly buckets?: readonly number[];
}
