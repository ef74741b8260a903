// Makes the dashboards and alert rules that @snakepit/telemetry ships, from its catalogue.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.ts";
import { alertRules } from "./telemetry/alerts.ts";
import { dashboard } from "./telemetry/dashboard.ts";

const directory = join(root, "packages/telemetry");
for (const folder of ["grafana", "prometheus"])
	mkdirSync(join(directory, folder), { recursive: true });
for (const scheme of ["exporter", "otlp"] as const) {
	writeFileSync(
		join(directory, `grafana/snakepit.${scheme}.json`),
		dashboard(scheme),
	);
	writeFileSync(
		join(directory, `prometheus/alerts.${scheme}.yml`),
		alertRules(scheme),
	);
}
