import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { catalogueLines } from "../support/collected.ts";
import type { OnNewerApi, OnOlderApiFirst, OnSdk2 } from "./program.ts";

let received: OnSdk2;

function run(program: string): Promise<{ stdout: string; stderr: string }> {
	return promisify(execFile)(
		process.execPath,
		["--conditions=snakepit-source", join(import.meta.dirname, program)],
		{ timeout: 60_000, maxBuffer: 1e7 },
	);
}

beforeAll(async () => {
	const { stdout } = await run("program.ts");
	received = JSON.parse(stdout) as OnSdk2;
}, 60_000);

test("SDK 2 receives all that the catalogue has, name by name and attribute by attribute, events by the provider that it registers itself", () => {
	expect(received.apiHasLogs).toBe(false);
	expect(received.lines.events.length).toBeGreaterThan(30);
	expect(received.lines).toEqual(catalogueLines(received.lines));
});

test("on SDK 2 one trace goes from the caller to the worker", () => {
	const [caller, call, attempt] = received.spans;
	expect(received.spans.map(({ name }) => name)).toEqual([
		"caller",
		"call headers",
		"attempt headers",
	]);
	expect(call?.parentSpanId).toBe(caller?.spanId);
	expect(attempt?.parentSpanId).toBe(call?.spanId);
	expect(received.headers).toEqual({
		traceparent: `00-${caller?.traceId}-${attempt?.spanId}-01`,
	});
});

test("where another version of the API registered first, the SDK is refused, which is reported once and by the doctor", async () => {
	const { stdout, stderr } = await run("older-api-first-program.ts");
	const { isRegistered, misconfigured, doctor } = JSON.parse(
		stdout,
	) as OnOlderApiFirst;
	expect(isRegistered).toBe(false);
	expect(misconfigured).toEqual([
		expect.objectContaining({
			reason: "api_of_another_version",
			message: expect.stringContaining(
				"@opentelemetry/api 1.9.1, registered first",
			),
			remedy: expect.stringContaining("npm ls @opentelemetry/api"),
		}),
	]);
	expect(stderr.match(/SNAKEPIT_TELEMETRY_MISCONFIGURED/g)).toHaveLength(1);
	expect(doctor).toMatchObject({
		status: "unavailable",
		detail: expect.stringContaining("registered first"),
	});
});

test("an API that is newer than the registered one is reported once, by an event, a warning and the doctor, and events are exported all the same", async () => {
	const { stdout, stderr } = await run("newer-api-program.ts");
	const { misconfigured, spans, events, doctor } = JSON.parse(
		stdout,
	) as OnNewerApi;
	expect(misconfigured).toEqual([
		expect.objectContaining({
			reason: "api_newer_than_registered",
			message: expect.stringContaining("@opentelemetry/api 1.9.1"),
			remedy: expect.stringContaining("npm install @opentelemetry/api@1.9.1"),
		}),
	]);
	expect(stderr.match(/SNAKEPIT_TELEMETRY_MISCONFIGURED/g)).toHaveLength(1);
	expect(spans).toBe(0);
	expect(events).toContain("snakepit.telemetry.misconfigured");
	expect(events).toContain("snakepit.pool.closed");
	expect(doctor).toMatchObject({
		status: "unavailable",
		remedy: expect.stringContaining("npm ls @opentelemetry/api"),
	});
});
