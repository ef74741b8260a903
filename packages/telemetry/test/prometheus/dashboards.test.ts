import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { METRICS, type MetricName, prometheusName } from "../../src/index.ts";
import { hasProgram, promtool } from "../support/prometheus-server.ts";

const own = join(import.meta.dirname, "../..");

interface Dashboard {
	readonly uid: string;
	readonly panels: readonly {
		readonly title: string;
		readonly type: string;
		readonly datasource?: { readonly uid: string };
		readonly targets?: readonly { readonly expr: string }[];
	}[];
}

describe.each(["exporter", "otlp"] as const)(
	"the dashboard for metrics by way of the %s",
	(scheme) => {
		const text = readFileSync(
			join(own, `grafana/snakepit.${scheme}.json`),
			"utf8",
		);
		const dashboard: Dashboard = JSON.parse(text);
		const panels = dashboard.panels.filter(({ type }) => type !== "row");
		const expressions = panels.flatMap(({ targets = [] }) =>
			targets.map(({ expr }) => expr),
		);
		const names = Object.keys(METRICS).flatMap((metric) => {
			const name = prometheusName(metric as MetricName, scheme);
			return METRICS[metric as MetricName].kind === "histogram"
				? [`${name}_bucket`, `${name}_count`]
				: [name];
		});

		test("asks for metrics of the catalogue and nothing else, and for all that a panel can show", () => {
			const asked = new Set(
				expressions.flatMap((expr) =>
					// Labels are in braces or after `by`, with an underscore too.
					[...expr.matchAll(/\bsnakepit_\w+(?=[{[])/g)].map(([name]) => name),
				),
			);
			expect([...asked].filter((name) => !names.includes(name))).toEqual([]);
			const unasked = Object.keys(METRICS).filter(
				(metric) =>
					![...asked].some((name) =>
						name.startsWith(prometheusName(metric as MetricName, scheme)),
					),
			);
			expect(unasked).toEqual([
				"snakepit.orphan.last_seen",
				"snakepit.protection.last_activation",
			]);
		});

		test("takes its data source from a variable, and has a name that stays", () => {
			expect(dashboard.uid).toBe(`snakepit-${scheme}`);
			expect(panels.map(({ datasource }) => datasource?.uid)).toEqual(
				panels.map(() => "$datasource"),
			);
		});

		test.skipIf(!hasProgram("promtool"))(
			"has only expressions that Prometheus can parse",
			async () => {
				const directory = temporaryDirectory();
				const file = join(directory, "rules.json");
				const rules = expressions.map((expr, index) => ({
					record: `panel:${index}`,
					expr: expr.replaceAll("$__rate_interval", "5m"),
				}));
				writeFileSync(
					file,
					JSON.stringify({ groups: [{ name: "panels", rules }] }),
				);
				expect(await promtool("check", "rules", file)).toContain(
					`SUCCESS: ${rules.length} rules found`,
				);
			},
		);
	},
);
