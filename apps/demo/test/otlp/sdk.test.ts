import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const API = "@opentelemetry/api";
const SDK = "@opentelemetry/sdk-node";

function manifest(path: string): Record<string, Record<string, string>> {
	return JSON.parse(
		readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8"),
	);
}

test("the demo's OpenTelemetry is of exact versions, its API the one that telemetry is developed with", () => {
	const { dependencies = {} } = manifest("apps/demo/package.json");
	const [api, sdk] = [dependencies[API], dependencies[SDK]];
	for (const version of [api, sdk]) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
	const { devDependencies = {} } = manifest("packages/telemetry/package.json");
	expect(api).toBe(devDependencies[API]);
});
