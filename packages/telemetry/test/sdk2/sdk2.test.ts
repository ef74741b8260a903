import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { ATTRIBUTES } from "../../src/index.ts";
import { catalogueLines } from "../support/told.ts";
import type { OnSdk2 } from "./on-sdk2.ts";

let told: OnSdk2;

beforeAll(async () => {
	const { stdout } = await promisify(execFile)(
		process.execPath,
		["--conditions=snakepit-source", join(import.meta.dirname, "program.ts")],
		{ timeout: 60_000, maxBuffer: 1e7 },
	);
	told = JSON.parse(stdout) as OnSdk2;
}, 60_000);

test("SDK 2 is told all that the catalogue has, name by name and attribute by attribute", () => {
	const { attributes, ...lines } = told.lines;
	expect(told.apiHasLogs).toBe(false);
	expect(lines).toEqual(catalogueLines());
	expect(attributes).toEqual(Object.keys(ATTRIBUTES).sort());
});

test("on SDK 2 one trace goes from the caller to the worker", () => {
	const [caller, call, attempt] = told.spans;
	expect(told.spans.map(({ name }) => name)).toEqual([
		"caller",
		"call headers",
		"attempt",
	]);
	expect(call?.parentSpanId).toBe(caller?.spanId);
	expect(attempt?.parentSpanId).toBe(call?.spanId);
	expect(told.headers).toEqual({
		traceparent: `00-${caller?.traceId}-${attempt?.spanId}-01`,
	});
});
