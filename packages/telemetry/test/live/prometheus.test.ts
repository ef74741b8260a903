import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { isThorough } from "../../../../scripts/test-effort.ts";
import { METRICS, type MetricName, prometheusName } from "../../src/index.ts";
import { hasProgram, PrometheusServer } from "../support/prometheus-server.ts";
import { allGone, startHost } from "./host.ts";

const own = join(import.meta.dirname, "../..");
const rules = join(own, "prometheus/alerts.exporter.yml");

/** Metrics that are there only when something went wrong, or on the way of another metric. */
const ONLY_IN_TROUBLE: readonly MetricName[] = [
	"snakepit.call.retries",
	"snakepit.worker.exits",
	"snakepit.worker.stop.duration",
	"snakepit.protection.activations",
	"snakepit.protection.kills",
	"snakepit.protection.last_activation",
	"snakepit.telemetry.dropped",
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
			"snakepit_protection_activations_total",
		);
		expect(activations).toMatchObject({
			metric: { snakepit_protection_name: "watchdog" },
			value: [expect.any(Number), "1"],
		});
		const [kills] = await prometheus.until("snakepit_protection_kills_total");
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
