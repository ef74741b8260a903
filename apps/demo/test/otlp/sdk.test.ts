import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const API = "@opentelemetry/api";

function manifest(path: string): Record<string, Record<string, string>> {
	return JSON.parse(
		readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8"),
	);
}

test("the demo's OpenTelemetry is of exact versions, its API the one that telemetry is developed with", () => {
	const { dependencies = {} } = manifest(
		"apps/demo/opentelemetry/package.json",
	);
	for (const version of Object.values(dependencies))
		expect(version).toMatch(/^\d+\.\d+\.\d+$/);
	const { devDependencies = {} } = manifest("packages/telemetry/package.json");
	expect(dependencies[API]).toBe(devDependencies[API]);
});
