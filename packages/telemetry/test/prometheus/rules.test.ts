import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import {
	METRICS,
	type MetricName,
	type NamingScheme,
	prometheusName,
} from "../../src/index.ts";
import { hasProgram, promtool } from "../support/prometheus-server.ts";

const own = join(import.meta.dirname, "../..");
const RULES = join(own, "prometheus/alerts.yml");
const OBJECTIVE = join(own, "prometheus/slo.example.yml");

interface Series {
	/** A metric of the catalogue, or one of Prometheus itself. */
	readonly metric: MetricName | "up";
	readonly part?: "_bucket";
	readonly labels?: string;
	/** As promtool writes them, one a minute. */
	readonly values: string;
}

interface Case {
	readonly alert: string;
	/** When it is looked, in minutes. */
	readonly after: number;
	readonly firing: readonly Series[];
	/** What is nearly so, and does not make it fire. */
	readonly quiet: readonly (readonly Series[])[];
	/** What the text of the alert says of it. */
	readonly says: readonly string[];
}

const ready = (values: string): Series => ({
	metric: "snakepit.worker.count",
	labels: 'snakepit_worker_state="ready"',
	values,
});
const least = (values: string): Series => ({
	metric: "snakepit.worker.min",
	values,
});

/** Each alert with what makes it fire, and what is nearly so. Counters begin at 0, and their first increase counts. */
const CASES: readonly Case[] = [
	{
		alert: "SnakepitNoReadyWorker",
		after: 12,
		firing: [ready("4x5 0x30"), least("4x60")],
		quiet: [
			[ready("4x5 0x4 1x30"), least("4x60")],
			// It has none while it needs none.
			[
				ready("0x60"),
				least("0x60"),
				{ metric: "snakepit.call.queued", values: "0x60" },
			],
		],
		says: ["has no ready worker", "snakepit.worker.start_failed"],
	},
	{
		alert: "SnakepitRestartBudgetSpent",
		after: 12,
		firing: [
			{
				metric: "snakepit.worker.restart_budget.spent",
				values: "0x7 1x30",
			},
		],
		quiet: [
			[{ metric: "snakepit.worker.restart_budget.spent", values: "0x60" }],
		],
		says: ["crash in a loop", "start.maxRestarts"],
	},
	{
		alert: "SnakepitWorkersRestart",
		after: 40,
		firing: [restarts("hung", "0 1x60"), ready("4x60")],
		quiet: [[restarts("recycled", "0 3x60"), ready("4x60")]],
		says: ["restarted often: hung", "did not answer its pings", "timeoutMs"],
	},
	{
		alert: "SnakepitHeartbeatsMissed",
		after: 15,
		firing: [
			{ metric: "snakepit.heartbeat.answered", values: "0+58x20" },
			{ metric: "snakepit.heartbeat.missed", values: "0+2x20" },
		],
		quiet: [
			[
				{ metric: "snakepit.heartbeat.answered", values: "0+60x20" },
				{ metric: "snakepit.heartbeat.missed", values: "0x20" },
			],
		],
		says: ["Workers hang, are stopped", "snakepit stacks"],
	},
	{
		alert: "SnakepitHostLagged",
		after: 12,
		firing: [standstills("0x7 1x30")],
		quiet: [[standstills("2x60")]],
		says: ["(blocked)", "held its event loop", "SIGSTOP"],
	},
	{
		alert: "SnakepitHeartbeatsSlow",
		after: 10,
		firing: histogram("snakepit.heartbeat.duration", "0x20", "0+60x20"),
		quiet: [histogram("snakepit.heartbeat.duration", "0+60x20", "0+60x20")],
		says: ["should be below 100 ms"],
	},
	{
		alert: "SnakepitCallsStand",
		after: 12,
		firing: [
			{ metric: "snakepit.call.queued", values: "0x5 7x30" },
			{ metric: "snakepit.call.active", values: "2x5 0x30" },
			ready("2x60"),
		],
		quiet: [
			[
				{ metric: "snakepit.call.queued", values: "7x60" },
				{ metric: "snakepit.call.active", values: "2x60" },
				ready("2x60"),
			],
			// That is SnakepitNoReadyWorker.
			[
				{ metric: "snakepit.call.queued", values: "7x60" },
				{ metric: "snakepit.call.active", values: "0x60" },
				ready("0x60"),
			],
		],
		says: ["7 calls wait", "is paused", "snakepit resume"],
	},
	{
		alert: "SnakepitCallRunsLong",
		after: 12,
		firing: [{ metric: "snakepit.attempt.age", values: "0+60x30" }],
		quiet: [[{ metric: "snakepit.attempt.age", values: "200x60" }]],
		says: ["runs for minutes", "snakepit stacks", "timeoutMs"],
	},
	{
		alert: "SnakepitQueueSaturated",
		after: 12,
		firing: [
			{ metric: "snakepit.call.queued", values: "0x5 900x30" },
			{ metric: "snakepit.call.queue.limit", values: "1000x60" },
		],
		quiet: [
			[
				{ metric: "snakepit.call.queued", values: "700x60" },
				{ metric: "snakepit.call.queue.limit", values: "1000x60" },
			],
		],
		says: ["90% full", "QUEUE_FULL", "size.max"],
	},
	{
		alert: "SnakepitCallsWait",
		after: 15,
		firing: histogram("snakepit.call.wait_time", "0+50x20", "0+60x20"),
		quiet: [histogram("snakepit.call.wait_time", "0+60x20", "0+60x20")],
		says: ["99th percentile", "size.max"],
	},
	{
		alert: "SnakepitCallsFail",
		after: 20,
		firing: [
			failures("WORKER_EXITED", "0+10x30"),
			settled("succeeded", "0+90x30"),
			settled("failed", "0+10x30"),
		],
		quiet: [
			[
				failures("WORKER_EXITED", "0+1x30"),
				settled("succeeded", "0+99x30"),
				settled("failed", "0+1x30"),
			],
		],
		says: ["fail: WORKER_EXITED", "10% of the calls"],
	},
	{
		alert: "SnakepitLedgerUnwritten",
		after: 12,
		firing: [{ metric: "snakepit.registry.unwritten", values: "0 3x60" }],
		quiet: [[{ metric: "snakepit.registry.unwritten", values: "0x60" }]],
		says: ["3 rows", "full, read-only, or not permitted"],
	},
	{
		alert: "SnakepitTelemetryDropped",
		after: 12,
		firing: [dropped("export_failed", "0x7 1x30")],
		quiet: [
			[dropped("export_failed", "0x60")],
			[dropped("attribute_cut", "0+5x60")],
		],
		says: ["is lost: export_failed", "the receiver"],
	},
	{
		alert: "SnakepitProgramSilent",
		after: 14,
		// Scraped, and its last answer was in the ninth minute.
		firing: [ready("4x9 stale"), { metric: "up", values: "1x9 0x30" }],
		quiet: [
			[ready("4x60"), { metric: "up", values: "1x60" }],
			// It was taken away with its target.
			[ready("4x9 stale"), { metric: "up", values: "1x9 stale" }],
			// It closed its pools.
			[ready("4x8 0 0 stale")],
		],
		says: ["with 4 workers is silent", "kill -CONT", "snakepit history"],
	},
	{
		alert: "SnakepitOrphansFound",
		after: 12,
		// Found in the fifth minute: as Unix time in seconds.
		firing: [{ metric: "snakepit.orphan.last_seen", values: "300x60" }],
		quiet: [[]],
		says: ["snakepit.orphan.reaped"],
	},
	{
		alert: "SnakepitHostDied",
		after: 12,
		firing: [
			{ metric: "snakepit.protection.last_activation", values: "300x60" },
		],
		quiet: [[]],
		says: ["snakepit history", "out of memory"],
	},
];

function restarts(reason: string, values: string): Series {
	const labels = `snakepit_worker_end_reason="${reason}"`;
	return { metric: "snakepit.worker.restarts", labels, values };
}

function standstills(values: string): Series {
	const labels = 'snakepit_reason="blocked"';
	return { metric: "snakepit.host.standstills", labels, values };
}

function failures(code: string, values: string): Series {
	const labels = `error_type="${code}"`;
	return { metric: "snakepit.call.failures", labels, values };
}

function settled(outcome: string, values: string): Series {
	const labels = `snakepit_call_outcome="${outcome}"`;
	return { metric: "snakepit.call.settled", labels, values };
}

function dropped(reason: string, values: string): Series {
	const labels = `snakepit_drop_reason="${reason}"`;
	return { metric: "snakepit.telemetry.dropped", labels, values };
}

/** Measurements up to a second, and all of them. */
function histogram(
	metric: MetricName,
	fast: string,
	all: string,
): readonly Series[] {
	return [
		{ metric, part: "_bucket", labels: 'le="1"', values: fast },
		{ metric, part: "_bucket", labels: 'le="5"', values: all },
		{ metric, part: "_bucket", labels: 'le="+Inf"', values: all },
	];
}

/** How many alerts of one name fire; promtool compares whole alerts, but their number is an expression. */
async function firingOf(
	scheme: NamingScheme,
	{ alert, after }: Pick<Case, "alert" | "after">,
	series: readonly Series[],
	rules = RULES,
): Promise<number> {
	const expr = `count(ALERTS{alertname="${alert}", alertstate="firing"}) or vector(0)`;
	const file = join(temporaryDirectory(), "test.json");
	for (const value of [0, 1]) {
		const expected = {
			expr,
			eval_time: `${after}m`,
			exp_samples: [{ labels: "{}", value }],
		};
		const tests = [
			{
				interval: "1m",
				input_series: inputOf(series, scheme),
				promql_expr_test: [expected],
			},
		];
		writeFileSync(
			file,
			JSON.stringify({ rule_files: [rules], evaluation_interval: "1m", tests }),
		);
		const passed = await promtool("test", "rules", file).then(
			() => true,
			() => false,
		);
		if (passed) return value;
	}
	throw new Error(`neither 0 nor 1 alerts ${alert}`);
}

function inputOf(series: readonly Series[], scheme: NamingScheme): object[] {
	return series.map(({ metric, part, labels, values }) => {
		const name = metric === "up" ? metric : prometheusName(metric, scheme);
		const pool = metric === "up" ? "" : ', snakepit_pool_name="p"';
		return {
			series: `${name}${part ?? ""}{job="j", instance="i"${pool}${labels === undefined ? "" : `, ${labels}`}}`,
			values,
		};
	});
}

/** What an alert says, which promtool prints when it is not what was expected. */
async function textOf(
	{ alert, after, firing }: Case,
	scheme: NamingScheme,
): Promise<string> {
	const file = join(temporaryDirectory(), "test.json");
	const tests = [
		{
			interval: "1m",
			input_series: inputOf(firing, scheme),
			alert_rule_test: [
				{ alertname: alert, eval_time: `${after}m`, exp_alerts: [] },
			],
		},
	];
	writeFileSync(
		file,
		JSON.stringify({ rule_files: [RULES], evaluation_interval: "1m", tests }),
	);
	try {
		await promtool("test", "rules", file);
	} catch (error) {
		return (error as Error).message;
	}
	throw new Error(`${alert} does not fire.`);
}

describe.skipIf(!hasProgram("promtool"))("alert rules", () => {
	test("are accepted by promtool, lint and all", async () => {
		for (const [file, count] of [
			[RULES, CASES.length],
			[OBJECTIVE, 6],
		] as const) {
			const said = await promtool(
				...["check", "rules", "--lint=all", "--lint-fatal", file],
			);
			expect(said).toContain(`SUCCESS: ${count} rules found`);
		}
	});

	describe.each(["exporter", "otlp"] as const)(
		"for metrics by way of the %s",
		(scheme) => {
			test.each(CASES)(
				"$alert fires when it must, and only then",
				async (one) => {
					expect(await firingOf(scheme, one, one.firing)).toBe(1);
					for (const quiet of one.quiet)
						expect(await firingOf(scheme, one, quiet)).toBe(0);
				},
			);

			test("what was found is no reason for an alert any more a quarter of an hour later", async () => {
				for (const { alert, firing } of CASES.slice(-2))
					expect(await firingOf(scheme, { alert, after: 21 }, firing)).toBe(0);
			});
		},
	);

	test.each(CASES)("$alert says what it is about", async (one) => {
		const text = await textOf(one, "exporter");
		for (const words of one.says) expect(text).toContain(words);
		expect(text).not.toContain("%!");
	});

	test("workers that restart in a loop have a share also where none is left", async () => {
		const text = await textOf(
			{
				...{ alert: "SnakepitWorkersRestart", after: 40, quiet: [] },
				firing: [restarts("exited", "0 3x60"), ready("0x60")],
				says: [],
			},
			"exporter",
		);
		expect(text).toContain("restarted often: exited");
		expect(text).not.toContain("Inf");
	});

	test("a program that is silent over OTLP, which has no `up`, is noticed", async () => {
		const silent = { alert: "SnakepitProgramSilent", after: 18 };
		// A series that is not sent any more is stale after five minutes.
		expect(await firingOf("otlp", silent, [ready("4x9 _x30")])).toBe(1);
	});

	test("the example of an objective alerts when the budget of 30 days burns, and only then", async () => {
		const calls = (failed: number): readonly Series[] => [
			settled("succeeded", `0+${1_000 - failed}x600`),
			settled("failed", `0+${failed}x600`),
		];
		const fast = { alert: "SnakepitErrorBudgetBurnsFast", after: 120 };
		const slow = { alert: "SnakepitErrorBudgetBurnsSlow", after: 420 };
		const firing = (alert: typeof fast, failed: number): Promise<number> =>
			firingOf("exporter", alert, calls(failed), OBJECTIVE);
		expect(await firing(fast, 20)).toBe(1);
		expect(await firing(fast, 10)).toBe(0);
		expect(await firing(slow, 10)).toBe(1);
		expect(await firing(slow, 1)).toBe(0);
	});
});

const text = readFileSync(RULES, "utf8");

test("the alert rules ask for metrics of the catalogue, by the names of both ways", () => {
	const labels =
		/^snakepit_(pool_name|command|worker_(state|end_reason)|call_outcome|reason|drop_reason)$/;
	const names = (scheme: NamingScheme): ReadonlySet<string> =>
		new Set(
			(Object.keys(METRICS) as MetricName[]).map((metric) =>
				prometheusName(metric, scheme),
			),
		);
	for (const file of [text, readFileSync(OBJECTIVE, "utf8")])
		for (const [, expr = ""] of file.matchAll(/^ +expr: '(.*)'$/gm))
			for (const [, name = "", unit = ""] of expr.matchAll(
				/\b(snakepit_\w+?)(?:_bucket)?(\(_seconds\)\?(?:_bucket)?)?(?=[^\w]|$)/g,
			)) {
				if (labels.test(name)) continue;
				expect(names("exporter"), name).toContain(name);
				expect(names("otlp"), name).toContain(
					unit === "" ? name : `${name}_seconds`,
				);
			}
});

test("every alert has a runbook, which is there", () => {
	const page = readFileSync(join(own, "../../docs/failure-modes.md"), "utf8");
	const anchors = [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
		title
			.toLowerCase()
			.replace(/[^\w -]/g, "")
			.replaceAll(" ", "-"),
	);
	const alerts = [...text.matchAll(/- alert: (\w+)/g)].map(
		([, alert = ""]) => alert,
	);
	expect(alerts).toEqual(CASES.map(({ alert }) => alert));
	const runbooks = [...text.matchAll(/runbook_url: (\S+)/g)].map(
		([, url = ""]) => url,
	);
	expect(runbooks).toEqual(
		alerts.map((alert) => `docs/failure-modes.md#${alert.toLowerCase()}`),
	);
	for (const url of [
		...runbooks,
		...(readFileSync(OBJECTIVE, "utf8").match(/docs\/failure-modes\S+/g) ?? []),
	])
		expect(anchors).toContain(url.split("#")[1]);
});
