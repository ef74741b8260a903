import { readFileSync } from "node:fs";
import { virtualPool } from "@snakepit/core/testing";
import { expect, test } from "vitest";
import { METRICS, type MetricName, prometheusName } from "../../src/index.ts";

const TYPES = {
	counter: "counter",
	histogram: "histogram",
	"observed counter": "counter",
	"observed up-down counter": "gauge",
	"observed gauge": "gauge",
} as const;

/** Labels that only one of them has: core does not tell commands apart. */
const NOT_IN_CORE: readonly string[] = ["snakepit_command"];

test("pool.metricsText() has the names, the types, the labels and the words of what telemetry exports", async () => {
	const { pool, close } = await virtualPool({ commands: {} });
	const text = pool.metricsText();
	await close();
	const known = new Map(
		(Object.keys(METRICS) as MetricName[]).map((name) => [
			prometheusName(name, "otlp"),
			METRICS[name],
		]),
	);
	const families = [
		...text.matchAll(/^# HELP (\w+) (.*)\n# TYPE \w+ (\w+)\n((?:[^#].*\n)*)/gm),
	];
	expect(families.length).toBeGreaterThan(10);
	for (const [, name = "", help, type, series = ""] of families) {
		const metric = known.get(name);
		expect(metric, name).toBeDefined();
		if (metric === undefined) continue;
		expect({ name, help, type }).toEqual({
			...{ name, help: metric.description },
			type: TYPES[metric.kind],
		});
		const labels = metric.attributes.map((each) => each.replaceAll(".", "_"));
		const used = [...series.matchAll(/[{,](\w+)="/g)].map(([, label]) => label);
		expect([...labels, "le", ...NOT_IN_CORE]).toEqual(
			expect.arrayContaining(used),
		);
		if (metric.buckets === undefined) continue;
		const bounds = [...series.matchAll(/le="([\d.]+)"/g)].map(([, le]) =>
			Number(le),
		);
		expect([...new Set(bounds)], name).toEqual(metric.buckets);
	}
});

/** Alerts about telemetry itself, what is there only after something was found, and a label that only tells more. */
const NOT_WATCHED: readonly string[] = [
	...["snakepit_telemetry_dropped_total", "snakepit_drop_reason"],
	"snakepit_orphan_last_seen",
	"snakepit_protection_last_activation",
	"snakepit_command",
];

test("the alerts work with pool.metricsText(), too", async () => {
	const { pool, close } = await virtualPool({ commands: {} });
	const text = pool.metricsText();
	await close();
	const rules = readFileSync(
		new URL("../../prometheus/alerts.yml", import.meta.url),
		"utf8",
	);
	const wanted = new Set(
		[...rules.matchAll(/^ +expr: (.*)$/gm)].flatMap(([, expression = ""]) =>
			[...expression.matchAll(/snakepit_\w+/g)].map(([name]) => name),
		),
	);
	const missing = [...wanted].filter(
		(name) =>
			!NOT_WATCHED.includes(name) &&
			// A histogram's name is followed by its unit, or by a pattern for one.
			!text.includes(name.replace(/_$/, "")),
	);
	expect(wanted.size).toBeGreaterThan(10);
	expect(missing).toEqual([]);
});
