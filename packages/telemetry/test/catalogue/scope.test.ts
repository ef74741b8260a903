import { readFileSync } from "node:fs";
import { join } from "node:path";
import { scripts, virtualPool } from "@snakepit/core/testing";
import { afterEach, expect, test } from "vitest";
import { SCOPE, telemetry } from "../../src/index.ts";
import { MemorySdk, unregister } from "../support/memory-sdk.ts";

afterEach(unregister);

test("the scope of spans, metrics and log records has the version of the package and a schema URL", async () => {
	const { name, version } = JSON.parse(
		readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"),
	);
	expect(SCOPE).toEqual({
		name,
		version,
		schemaUrl: expect.stringMatching(
			/^https:\/\/opentelemetry\.io\/schemas\/1\.\d+\.\d+$/,
		),
	});
	const sdk = new MemorySdk().register();
	const { pool, close } = await virtualPool(
		{ commands: scripts },
		{ instruments: [telemetry()] },
	);
	await pool.execute("echo", 1);
	const scopes = new Set([
		...(await sdk.spans()).map((span) => span.instrumentationScope),
		...sdk.logs().map((record) => record.instrumentationScope),
		...(await sdk.scopes()),
	]);
	await close();
	expect(scopes.size).toBeGreaterThan(2);
	for (const scope of scopes) expect(scope).toEqual(SCOPE);
});
