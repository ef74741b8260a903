import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import {
	type MetricName,
	type NamingScheme,
	prometheusName,
} from "../../src/index.ts";
import { hasProgram, promtool } from "../support/prometheus-server.ts";

const own = join(import.meta.dirname, "../..");

interface Series {
	readonly metric: MetricName;
	readonly part?: "_bucket";
	readonly labels?: string;
	/** As promtool writes them, one a minute. */
	readonly values: string;
}

/** Each alert with what makes it fire, and what is nearly so and does not. */
const CASES: readonly {
	readonly alert: string;
	/** When it is looked, in minutes. */
	readonly after: number;
	readonly firing: readonly Series[];
	readonly quiet: readonly Series[];
}[] = [
	{
		alert: "SnakepitHeartbeatsMissed",
		after: 15,
		firing: [
			{ metric: "snakepit.heartbeat.answered", values: "0+58x20" },
			{ metric: "snakepit.heartbeat.missed", values: "0+2x20" },
		],
		quiet: [
			{ metric: "snakepit.heartbeat.answered", values: "0+60x20" },
			{ metric: "snakepit.heartbeat.missed", values: "0x20" },
		],
	},
	{
		alert: "SnakepitHeartbeatsSlow",
		after: 10,
		firing: latency("0x20", "0+60x20"),
		quiet: latency("0+60x20", "0+60x20"),
	},
	{
		alert: "SnakepitWorkersRestart",
		after: 40,
		firing: [
			{
				metric: "snakepit.worker.restarts",
				labels: REASON("hung"),
				values: "0 1x60",
			},
			{ metric: "snakepit.worker.count", values: "4x60" },
		],
		quiet: [
			{
				metric: "snakepit.worker.restarts",
				labels: REASON("recycled"),
				values: "0 3x60",
			},
			{ metric: "snakepit.worker.count", values: "4x60" },
		],
	},
	{
		alert: "SnakepitOrphansFound",
		after: 12,
		// Found in the fifth minute: as Unix time in seconds.
		firing: [{ metric: "snakepit.orphan.last_seen", values: "300x60" }],
		quiet: [],
	},
	{
		alert: "SnakepitHostDied",
		after: 12,
		firing: [
			{ metric: "snakepit.protection.last_activation", values: "300x60" },
		],
		quiet: [],
	},
];

function REASON(reason: string): string {
	return `snakepit_worker_end_reason="${reason}"`;
}

/** Pings that took up to a second, and all of them. */
function latency(fast: string, all: string): readonly Series[] {
	const metric = "snakepit.heartbeat.latency";
	return [
		{ metric, part: "_bucket", labels: 'le="1"', values: fast },
		{ metric, part: "_bucket", labels: 'le="5"', values: all },
		{ metric, part: "_bucket", labels: 'le="+Inf"', values: all },
	];
}

/** How many alerts of one name fire; promtool compares whole alerts, but their number is an expression. */
async function firingOf(
	scheme: NamingScheme,
	alert: string,
	series: readonly Series[],
	atMinutes: number,
): Promise<number> {
	const directory = temporaryDirectory();
	const file = join(directory, "test.json");
	const expr = `count(ALERTS{alertname="${alert}", alertstate="firing"}) or vector(0)`;
	for (const value of [0, 1]) {
		const expected = {
			expr,
			eval_time: `${atMinutes}m`,
			exp_samples: [{ labels: "{}", value }],
		};
		const input_series = series.map(({ metric, part, labels, values }) => ({
			series: `${prometheusName(metric, scheme)}${part ?? ""}{job="j", instance="i", snakepit_pool_name="p"${labels === undefined ? "" : `, ${labels}`}}`,
			values,
		}));
		const tests = [
			{ interval: "1m", input_series, promql_expr_test: [expected] },
		];
		const rule_files = [rulesFor(scheme)];
		const evaluation_interval = "1m";
		writeFileSync(
			file,
			JSON.stringify({ rule_files, evaluation_interval, tests }),
		);
		const passed = await promtool("test", "rules", file).then(
			() => true,
			() => false,
		);
		if (passed) return value;
	}
	throw new Error(`neither 0 nor 1 alerts ${alert}`);
}

function rulesFor(scheme: NamingScheme): string {
	return join(own, `prometheus/alerts.${scheme}.yml`);
}

describe.skipIf(!hasProgram("promtool")).each(["exporter", "otlp"] as const)(
	"alert rules for metrics by way of the %s",
	(scheme) => {
		test("are accepted by promtool, lint and all", async () => {
			const said = await promtool(
				...["check", "rules", "--lint=all", "--lint-fatal", rulesFor(scheme)],
			);
			expect(said).toContain(`SUCCESS: ${CASES.length} rules found`);
		});

		test.each(CASES)(
			"$alert fires when it must, and only then",
			async ({ alert, after, firing, quiet }) => {
				expect(await firingOf(scheme, alert, firing, after)).toBe(1);
				expect(await firingOf(scheme, alert, quiet, after)).toBe(0);
			},
		);

		test("what was found is no reason for an alert any more a quarter of an hour later", async () => {
			for (const { alert, firing } of CASES.slice(-2))
				expect(await firingOf(scheme, alert, firing, 21)).toBe(0);
		});
	},
);
