import type { NamingScheme } from "@snakepit/telemetry";
import { Expressions } from "./expressions.ts";
import { graph, laidOut, type Row, stat, variable } from "./grafana.ts";

const WINDOW = "$__rate_interval";
const POOL = "snakepit_pool_name";

/** A Grafana dashboard as JSON; the data source is a variable. */
export function dashboard(scheme: NamingScheme): string {
	const e = new Expressions(scheme);
	const of = new Expressions(scheme, [
		'job=~"$job"',
		'instance=~"$instance"',
		`${POOL}=~"$pool"`,
	]);
	const run = new Expressions(scheme, ['job=~"$job"', 'instance=~"$instance"']);
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
	const restarts = of.restartRatio(POOL);
	return {
		title: "Service levels",
		panels: [
			stat("Heartbeats answered", "Target: above 99.9 %", "percentunit", {
				redBelow: 0.99,
				queries: [[of.heartbeatSuccess("1h", POOL), `{{${POOL}}}`]],
			}),
			stat("Heartbeat latency, p95", "Target: below 100 ms", "s", {
				red: 1,
				queries: [
					[
						of.quantile(0.95, "snakepit.heartbeat.latency", "1h", POOL),
						`{{${POOL}}}`,
					],
				],
			}),
			stat("Restarts per worker and hour", "Target: below 1 %", "percentunit", {
				red: 0.05,
				queries: [[restarts, `{{${POOL}}}`]],
			}),
			stat("Ending a worker, p95", "Target: below 5 s", "s", {
				red: 5,
				queries: [
					[
						of.quantile(0.95, "snakepit.worker.stop.duration", "1h", POOL),
						`{{${POOL}}}`,
					],
				],
			}),
			stat("Orphans found", "Target: none", "short", {
				red: 1,
				queries: [[`sum(${run.series("snakepit.orphan.found")})`, "found"]],
			}),
		],
	};
}

function calls(of: Expressions): Row {
	const outcome = "snakepit_call_outcome";
	const duration = "snakepit.call.duration";
	return {
		title: "Calls",
		panels: [
			graph("Calls per second", "ops", [
				[
					`sum by (${outcome}) (${of.rate(`${duration}_count`, WINDOW)})`,
					`{{${outcome}}}`,
				],
			]),
			graph("Duration", "s", [
				[of.quantile(0.5, duration, WINDOW, POOL), `{{${POOL}}} p50`],
				[of.quantile(0.99, duration, WINDOW, POOL), `{{${POOL}}} p99`],
			]),
			graph("Wait for a worker", "s", [
				[
					of.quantile(0.5, "snakepit.call.wait_time", WINDOW, POOL),
					`{{${POOL}}} p50`,
				],
				[
					of.quantile(0.99, "snakepit.call.wait_time", WINDOW, POOL),
					`{{${POOL}}} p99`,
				],
			]),
			graph("Time on a worker by command, p95", "s", [
				[
					of.quantile(
						0.95,
						"snakepit.attempt.duration",
						WINDOW,
						"snakepit_command",
					),
					"{{snakepit_command}}",
				],
			]),
			graph("Waiting and running", "short", [
				[`sum by (${POOL}) (${of.series("snakepit.call.queued")})`, "waiting"],
				[`sum by (${POOL}) (${of.series("snakepit.call.active")})`, "running"],
				[
					`sum by (${POOL}) (${of.series("snakepit.session.count")})`,
					"sessions",
				],
			]),
			graph("Failures and retries per second", "ops", [
				[
					`sum by (error_type) (${of.rate(`${duration}_count`, WINDOW, 'error_type!=""')})`,
					"{{error_type}}",
				],
				[
					`sum by (error_type) (${of.rate("snakepit.call.retries", WINDOW)})`,
					"retried: {{error_type}}",
				],
			]),
		],
	};
}

function pool(of: Expressions): Row {
	const state = "snakepit_worker_state";
	const reason = "snakepit_worker_end_reason";
	const worker = "snakepit_worker_id";
	return {
		title: "Workers",
		panels: [
			graph("Workers by state", "short", [
				[
					`sum by (${state}) (${of.series("snakepit.worker.count")})`,
					`{{${state}}}`,
				],
			]),
			graph("Resident memory", "bytes", [
				[of.series("snakepit.worker.memory.usage"), `{{${worker}}}`],
			]),
			graph("Processor time", "percentunit", [
				[of.rate("snakepit.worker.cpu.time", WINDOW), `{{${worker}}}`],
			]),
			graph("Start-up time", "s", [
				[
					of.quantile(0.5, "snakepit.worker.start.duration", WINDOW, POOL),
					"p50",
				],
				[
					of.quantile(0.95, "snakepit.worker.start.duration", WINDOW, POOL),
					"p95",
				],
			]),
			graph("Starts and restarts by reason", "short", [
				[
					`sum(increase(${of.series("snakepit.worker.starts")}[${WINDOW}]))`,
					"starts",
				],
				[
					`sum by (${reason}) (increase(${of.series("snakepit.worker.restarts")}[${WINDOW}]))`,
					`{{${reason}}}`,
				],
			]),
			graph("Exits by code or signal", "short", [
				[
					`sum by (process_exit_code, snakepit_worker_exit_signal) (increase(${of.series("snakepit.worker.exits")}[${WINDOW}]))`,
					"{{process_exit_code}} {{snakepit_worker_exit_signal}}",
				],
			]),
		],
	};
}

function health(of: Expressions, run: Expressions): Row {
	const ping = (name: string): string =>
		`sum by (${POOL}) (${of.rate(`snakepit.heartbeat.${name}`, WINDOW)})`;
	const total = (metric: string): string => `sum(${run.series(metric)})`;
	return {
		title: "Health, clean-up and the ledger",
		panels: [
			graph("Heartbeats per second", "ops", [
				[ping("sent"), "sent"],
				[ping("answered"), "answered"],
				[ping("missed"), "missed"],
			]),
			graph("Orphans and protections", "short", [
				[total("snakepit.orphan.found"), "orphans found"],
				[total("snakepit.orphan.killed"), "orphans killed"],
				[total("snakepit.protection.activations"), "hosts that died"],
				[total("snakepit.protection.kills"), "ended by a protection"],
			]),
			graph("Clean-up at a start, p95", "s", [
				[
					`histogram_quantile(0.95, sum by (le) (${run.rate("snakepit.cleanup.duration_bucket", "1h")}))`,
					"p95",
				],
			]),
			graph("Time per commit of the ledger", "s", [
				[
					`sum(${run.rate("snakepit.registry.commit.time", WINDOW)}) / sum(${run.rate("snakepit.registry.commits", WINDOW)})`,
					"mean",
				],
			]),
			graph("Rows that could not be written", "short", [
				[total("snakepit.registry.unwritten"), "rows"],
			]),
			graph("What telemetry lost, per second", "ops", [
				[
					`sum by (snakepit_drop_reason) (${run.rate("snakepit.telemetry.dropped", WINDOW)})`,
					"{{snakepit_drop_reason}}",
				],
			]),
		],
	};
}
