import type { NamingScheme } from "@snakepit/telemetry";
import { Expressions } from "./expressions.ts";
import { graph, laidOut, type Row, stat, variable } from "./grafana.ts";

const WINDOW = "$__rate_interval";
const POOL = "snakepit_pool_name";
const BY_POOL = `{{${POOL}}}`;

/** A Grafana dashboard as JSON; the data source is a variable. */
export function dashboard(scheme: NamingScheme): string {
	const e = new Expressions(scheme);
	const program = ['job=~"$job"', 'instance=~"$instance"'];
	const of = new Expressions(scheme, [...program, `${POOL}=~"$pool"`]);
	const run = new Expressions(scheme, program);
	const workers = e.series("snakepit.worker.count");
	return `${JSON.stringify(
		{
			uid: `snakepit-${scheme}`,
			title: "Snakepit",
			description: `Made by pnpm generate. For metrics that are ${scheme === "otlp" ? "sent as OTLP" : "scraped from the Prometheus exporter"}.`,
			tags: ["snakepit"],
			schemaVersion: 42,
			editable: true,
			refresh: "30s",
			time: { from: "now-1h", to: "now" },
			templating: {
				list: [
					{
						name: "datasource",
						label: "Data source",
						type: "datasource",
						query: "prometheus",
					},
					variable("job", `label_values(${workers}, job)`),
					variable("instance", `label_values(${workers}, instance)`),
					variable("pool", `label_values(${workers}, ${POOL})`),
				],
			},
			panels: laidOut([levels(of, run), calls(of), pool(of), health(of, run)]),
		},
		undefined,
		"\t",
	)}\n`;
}

/** The key metrics of the design and their targets. */
function levels(of: Expressions, run: Expressions): Row {
	const p95 = (metric: string) => of.quantile(0.95, metric, "1h", POOL);
	return {
		title: "Service levels",
		panels: [
			stat(
				"Heartbeats answered",
				"Target: above 99.9 %",
				"percentunit",
				{ redBelow: 0.99 },
				{ [BY_POOL]: of.heartbeatSuccess("1h", POOL) },
			),
			stat(
				"Heartbeat latency, p95",
				"Target: below 100 ms",
				"s",
				{ red: 1 },
				{ [BY_POOL]: p95("snakepit.heartbeat.latency") },
			),
			stat(
				"Restarts per worker and hour",
				"Target: below 1 %",
				"percentunit",
				{ red: 0.05 },
				{ [BY_POOL]: of.restartRatio(POOL) },
			),
			stat(
				"Ending a worker, p95",
				"Target: below 5 s",
				"s",
				{ red: 5 },
				{ [BY_POOL]: p95("snakepit.worker.stop.duration") },
			),
			stat(
				"Orphans found",
				"Target: none",
				"short",
				{ red: 1 },
				{ found: `sum(${run.series("snakepit.orphan.found")})` },
			),
		],
	};
}

function calls(of: Expressions): Row {
	const quantile = (share: number, metric: string, by: string = POOL) =>
		of.quantile(share, metric, WINDOW, by);
	const halfAndMost = (metric: string) => ({
		[`${BY_POOL} p50`]: quantile(0.5, metric),
		[`${BY_POOL} p99`]: quantile(0.99, metric),
	});
	const byPool = (metric: string) => `sum by (${POOL}) (${of.series(metric)})`;
	const perSecond = (by: string, metric: string, ...matchers: string[]) =>
		`sum by (${by}) (${of.rate(metric, WINDOW, ...matchers)})`;
	const [outcome, command] = ["snakepit_call_outcome", "snakepit_command"];
	const count = "snakepit.call.duration_count";
	return {
		title: "Calls",
		panels: [
			graph("Calls per second", "ops", {
				[`{{${outcome}}}`]: perSecond(outcome, count),
			}),
			graph("Duration", "s", halfAndMost("snakepit.call.duration")),
			graph("Wait for a worker", "s", halfAndMost("snakepit.call.wait_time")),
			graph("Time on a worker by command, p95", "s", {
				[`{{${command}}}`]: quantile(
					0.95,
					"snakepit.attempt.duration",
					command,
				),
			}),
			graph("Waiting and running", "short", {
				waiting: byPool("snakepit.call.queued"),
				running: byPool("snakepit.call.active"),
				sessions: byPool("snakepit.session.count"),
			}),
			graph("Failures and retries per second", "ops", {
				"{{error_type}}": perSecond("error_type", count, 'error_type!=""'),
				"retried: {{error_type}}": perSecond(
					"error_type",
					"snakepit.call.retries",
				),
			}),
		],
	};
}

function pool(of: Expressions): Row {
	const [state, reason] = [
		"snakepit_worker_state",
		"snakepit_worker_end_reason",
	];
	const ends = "process_exit_code, snakepit_worker_exit_signal";
	const worker = "{{snakepit_worker_id}}";
	const increase = (metric: string, by?: string) =>
		`sum${by ? ` by (${by}) ` : ""}(increase(${of.series(metric)}[${WINDOW}]))`;
	const start = (share: number) =>
		of.quantile(share, "snakepit.worker.start.duration", WINDOW, POOL);
	return {
		title: "Workers",
		panels: [
			graph("Workers by state", "short", {
				[`{{${state}}}`]: `sum by (${state}) (${of.series("snakepit.worker.count")})`,
			}),
			graph("Resident memory", "bytes", {
				[worker]: of.series("snakepit.worker.memory.usage"),
			}),
			graph("Processor time", "percentunit", {
				[worker]: of.rate("snakepit.worker.cpu.time", WINDOW),
			}),
			graph("Start-up time", "s", { p50: start(0.5), p95: start(0.95) }),
			graph("Starts and restarts by reason", "short", {
				starts: increase("snakepit.worker.starts"),
				[`{{${reason}}}`]: increase("snakepit.worker.restarts", reason),
			}),
			graph("Exits by code or signal", "short", {
				"{{process_exit_code}} {{snakepit_worker_exit_signal}}": increase(
					"snakepit.worker.exits",
					ends,
				),
			}),
		],
	};
}

function health(of: Expressions, run: Expressions): Row {
	const ping = (name: string) =>
		`sum by (${POOL}) (${of.rate(`snakepit.heartbeat.${name}`, WINDOW)})`;
	const total = (metric: string) => `sum(${run.series(metric)})`;
	const rate = (metric: string, window: string = WINDOW) =>
		run.rate(metric, window);
	const dropped = "snakepit_drop_reason";
	return {
		title: "Health, clean-up and the ledger",
		panels: [
			graph("Heartbeats per second", "ops", {
				sent: ping("sent"),
				answered: ping("answered"),
				missed: ping("missed"),
			}),
			graph("Orphans and protections", "short", {
				"orphans found": total("snakepit.orphan.found"),
				"orphans killed": total("snakepit.orphan.killed"),
				"hosts that died": total("snakepit.protection.activations"),
				"ended by a protection": total("snakepit.protection.kills"),
			}),
			graph("Clean-up at a start, p95", "s", {
				p95: `histogram_quantile(0.95, sum by (le) (${rate("snakepit.cleanup.duration_bucket", "1h")}))`,
			}),
			graph("Time per commit of the ledger", "s", {
				mean: `sum(${rate("snakepit.registry.commit.time")}) / sum(${rate("snakepit.registry.commits")})`,
			}),
			graph("Rows that could not be written", "short", {
				rows: total("snakepit.registry.unwritten"),
			}),
			graph("What telemetry lost, per second", "ops", {
				[`{{${dropped}}}`]: `sum by (${dropped}) (${rate("snakepit.telemetry.dropped")})`,
			}),
		],
	};
}
