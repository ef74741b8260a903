import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { isThorough } from "../../../../scripts/test-effort.ts";
import { METRICS, type MetricName, prometheusName } from "../../src/index.ts";
import { hasProgram, PrometheusServer } from "../support/prometheus-server.ts";
import { allGone, startHost } from "./host.ts";

const own = join(import.meta.dirname, "../..");
const rules = join(own, "prometheus/alerts.yml");

/** Metrics that are there only when something has happened: all others begin at 0. */
const ONLY_IN_TROUBLE: readonly MetricName[] = [
	"snakepit.attempt.age",
	"snakepit.worker.exits",
	"snakepit.worker.stop.duration",
	"snakepit.protection.last_activation",
];

test.skipIf(!hasProgram("prometheus"))(
	"a host is killed: Prometheus reads the next start's metrics, and the alert for what it left fires",
	{ timeout: 120_000 },
	async () => {
		const dataDir = temporaryDirectory();
		const first = await startHost(dataDir);
		await first.kill();
		const next = await startHost(dataDir);
		const prometheus = await PrometheusServer.start(next.port, rules);

		const [ready] = await prometheus.until(
			'snakepit_worker_count{snakepit_worker_state="ready"}',
		);
		expect(ready?.value[1]).toBe("3");
		const [found] = await prometheus.until("snakepit_orphan_found_total");
		expect(found?.value[1]).toBe("3");
		const [calls] = await prometheus.until(
			'snakepit_call_duration_count{snakepit_call_outcome="succeeded"}',
		);
		expect(calls?.value[1]).toBe("100");
		const memory = await prometheus.until("snakepit_worker_memory_usage > 1e6");
		expect(memory.map(({ metric }) => metric["snakepit_worker_id"])).toEqual([
			"sleeper-0",
			"sleeper-1",
			"sleeper-2",
		]);

		const alerts = await prometheus.until('ALERTS{alertstate="firing"}');
		expect(alerts.map(({ metric }) => metric["alertname"])).toEqual([
			"SnakepitOrphansFound",
		]);

		const names = await prometheus.names();
		const missing = (Object.keys(METRICS) as MetricName[]).filter((metric) => {
			const name = prometheusName(metric, "exporter");
			return !names.some((each) => each === name || each === `${name}_bucket`);
		});
		expect(new Set(missing)).toEqual(new Set(ONLY_IN_TROUBLE));
	},
);

interface Dashboard {
	readonly panels: readonly {
		readonly title: string;
		readonly targets?: readonly { readonly expr: string }[];
	}[];
}

test.skipIf(!hasProgram("prometheus")).each(["exporter", "otlp"] as const)(
	"every query of the dashboard has an answer, while calls wait, fail and lose their workers: %s",
	{ timeout: 180_000 },
	async (scheme) => {
		const dataDir = temporaryDirectory();
		const first = await startHost(dataDir);
		await first.kill();
		const host = await startHost(dataDir, "trouble", scheme);
		const prometheus = await PrometheusServer.start(host.port, rules);
		const { panels }: Dashboard = JSON.parse(
			readFileSync(join(own, `grafana/snakepit.${scheme}.json`), "utf8"),
		);
		const queries = panels.flatMap(({ title, targets = [] }) =>
			targets.map(({ expr }) => ({ title, expr: filled(expr) })),
		);
		expect(queries.length).toBeGreaterThan(38);
		for (const { title, expr } of queries) {
			// A quantile of nothing is not a number.
			const answer = await prometheus.until(`(${expr}) >= 0`).catch(() => []);
			expect(answer, `${title}: ${expr}`).not.toEqual([]);
		}
	},
);

/** As Grafana asks: every job, instance and pool, over a minute. */
function filled(expression: string): string {
	return expression
		.replaceAll("$__rate_interval", "60s")
		.replaceAll(/"\$(job|instance|pool)"/g, '".*"');
}

/** The rules with seconds for minutes: what they say of a fault in a quarter of an hour, they say in one. */
function quickRules(): string {
	const file = join(temporaryDirectory(), "alerts.yml");
	const quick = readFileSync(rules, "utf8")
		.replaceAll(/for: \d+m/g, "for: 1s")
		.replaceAll("[15m:30s]", "[2m:1s]")
		.replaceAll(/\[(5m|10m|15m|1h)\]/g, "[20s]");
	writeFileSync(file, quick);
	return file;
}

/** The faults that a person on call sees, and the alerts that have to name them. */
const FAULTS = [
	[
		"crash-loop",
		[
			"SnakepitWorkersRestart exited",
			"SnakepitRestartBudgetSpent",
			"SnakepitNoReadyWorker",
			"SnakepitCallsFail WORKER_EXITED",
		],
	],
	["hang", ["SnakepitHeartbeatsMissed", "SnakepitWorkersRestart hung"]],
	[
		"overload",
		[
			"SnakepitQueueSaturated",
			"SnakepitCallsWait",
			"SnakepitCallsFail QUEUE_FULL",
		],
	],
] as const;

test.runIf(isThorough() && hasProgram("prometheus")).each(FAULTS)(
	"%s: the alerts that name it fire",
	{ timeout: 180_000 },
	async (fault, alerts) => {
		const host = await startHost(temporaryDirectory(), fault);
		const prometheus = await PrometheusServer.start(host.port, quickRules());
		for (const alert of alerts) await fires(prometheus, alert);
	},
);

test.runIf(isThorough() && hasProgram("prometheus"))(
	"a program that is stopped, and one that is killed: the alert that it is silent fires",
	{ timeout: 180_000 },
	async () => {
		for (const end of ["stop", "kill"] as const) {
			const host = await startHost(temporaryDirectory(), "guard");
			const prometheus = await PrometheusServer.start(host.port, quickRules());
			await prometheus.until(
				'snakepit_worker_count{snakepit_worker_state="ready"} == 3',
			);
			await host[end]();
			await fires(prometheus, "SnakepitProgramSilent");
		}
	},
);

/** Waits until an alert fires; with a word after its name, for the label that says why. */
async function fires(
	prometheus: PrometheusServer,
	alert: string,
): Promise<void> {
	const [name, why] = alert.split(" ");
	const label =
		name === "SnakepitCallsFail" ? "error_type" : "snakepit_worker_end_reason";
	const labels = why === undefined ? "" : `, ${label}="${why}"`;
	await prometheus.until(
		`ALERTS{alertname="${name}", alertstate="firing"${labels}}`,
	);
}

test.runIf(isThorough() && hasProgram("prometheus"))(
	"a host with a watchdog is killed: nothing is left, the next start tells, and the alert for the host fires alone",
	{ timeout: 120_000 },
	async () => {
		const dataDir = temporaryDirectory();
		const first = await startHost(dataDir, "watchdog");
		await first.kill();
		await allGone(first.pids);
		const next = await startHost(dataDir, "watchdog");
		const prometheus = await PrometheusServer.start(next.port, rules);

		const [activations] = await prometheus.until(
			"snakepit_protection_activations_total > 0",
		);
		expect(activations).toMatchObject({
			metric: { snakepit_protection_name: "watchdog" },
			value: [expect.any(Number), "1"],
		});
		const [kills] = await prometheus.until(
			"snakepit_protection_kills_total > 0",
		);
		expect(kills?.value[1]).toBe("3");
		const alerts = await prometheus.until('ALERTS{alertstate="firing"}');
		expect(alerts.map(({ metric }) => metric["alertname"])).toEqual([
			"SnakepitHostDied",
		]);
		expect(await prometheus.query("snakepit_orphan_found_total > 0")).toEqual(
			[],
		);
	},
);
