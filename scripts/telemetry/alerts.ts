import type { NamingScheme } from "@snakepit/telemetry";
import { BY_POOL, Expressions } from "./expressions.ts";

interface Rule {
	readonly alert: string;
	readonly expr: string;
	readonly for: string;
	readonly severity: "warning" | "critical";
	readonly summary: string;
	readonly description: string;
}

/** Prometheus alert rules as YAML. */
export function alertRules(scheme: NamingScheme): string {
	const how =
		scheme === "exporter"
			? "metrics that are scraped from @opentelemetry/exporter-prometheus"
			: "metrics that are sent as OTLP";
	return [
		"# Made by `npx pnpm@12 generate`; edit scripts/telemetry/alerts.ts instead.",
		`# For ${how}.`,
		"groups:",
		"  - name: snakepit",
		"    rules:",
		...rules(new Expressions(scheme)).flatMap(yamlOf),
		"",
	].join("\n");
}

function rules(e: Expressions): readonly Rule[] {
	return [
		{
			alert: "SnakepitHeartbeatsMissed",
			expr: `${e.heartbeatSuccess("5m", BY_POOL)} < 0.99`,
			for: "5m",
			severity: "warning",
			summary:
				"Workers of pool {{ $labels.snakepit_pool_name }} miss heartbeats",
			description:
				"Less than 99 % of the pings of the last five minutes were answered in time: {{ $value | humanizePercentage }}. Workers hang, or the machine is overloaded. The events snakepit.heartbeat.missed name the workers.",
		},
		{
			alert: "SnakepitHeartbeatsSlow",
			expr: `${e.quantile(0.95, "snakepit.heartbeat.latency", "5m", BY_POOL)} > 1`,
			for: "2m",
			severity: "warning",
			summary:
				"Workers of pool {{ $labels.snakepit_pool_name }} answer pings slowly",
			description:
				"The 95th percentile of the time from a ping to its answer is {{ $value | humanizeDuration }}; it should be below 100 ms.",
		},
		{
			alert: "SnakepitWorkersRestart",
			expr: `${e.restartRatio(BY_POOL)} > 0.05`,
			for: "10m",
			severity: "warning",
			summary:
				"Workers of pool {{ $labels.snakepit_pool_name }} are restarted often",
			description:
				"{{ $value | humanizePercentage }} of the workers were restarted within the last hour after an end that nobody wanted. The events snakepit.worker.exited say why, with their last lines of output.",
		},
		{
			alert: "SnakepitOrphansFound",
			expr: `time() - ${e.series("snakepit.orphan.last_seen")} < 900`,
			for: "0m",
			severity: "critical",
			summary: "Processes outlived their program",
			description:
				"Within the last 15 minutes this program found processes that a dead program or a dead worker had left behind. The events snakepit.orphan.reaped and snakepit.orphan.spared name them.",
		},
		{
			alert: "SnakepitHostDied",
			expr: `time() - ${e.series("snakepit.protection.last_activation")} < 900`,
			for: "0m",
			severity: "critical",
			summary: "A program died and its protection ended its workers",
			description:
				"Within the last 15 minutes this program learned that a watchdog or guard had seen the death of its host. The events snakepit.protection.host_death_detected say when.",
		},
	];
}

function yamlOf(rule: Rule): readonly string[] {
	return [
		`      - alert: ${rule.alert}`,
		`        expr: ${quoted(rule.expr)}`,
		`        for: ${rule.for}`,
		"        labels:",
		`          severity: ${rule.severity}`,
		"        annotations:",
		`          summary: ${quoted(rule.summary)}`,
		`          description: ${quoted(rule.description)}`,
	];
}

/** In single quotes nothing but they themselves means anything to YAML. */
function quoted(text: string): string {
	return `'${text.replaceAll("'", "''")}'`;
}
