import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AlwaysOffSampler } from "@opentelemetry/sdk-trace";
import { pythonGrpc } from "@snakepit/adapter-grpc-python";
import { createPool, type Pool } from "@snakepit/core";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { telemetry } from "../../src/index.ts";
import { MemorySdk, unregister } from "../support/memory-sdk.ts";
import { Receiver, ReceiverExporter } from "./receiver.ts";

/** The development environment, which has the SDK for Python. */
const PYTHON = fileURLToPath(
	new URL("../../../../python/.venv/bin/python", import.meta.url),
);

afterEach(unregister);

/** A pool of one Python worker that exports to `url`, as this program does. */
async function open(
	url: string,
	sampler?: AlwaysOffSampler,
): Promise<{ readonly pool: Pool; readonly sdk: MemorySdk }> {
	const sdk = new MemorySdk({
		exporter: new ReceiverExporter(url),
		...(sampler && { sampler }),
	}).register();
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-trace-"));
	const pool = await createPool({
		adapter: pythonGrpc({
			tools: join(import.meta.dirname, "tools.py"),
			python: PYTHON,
			hostFunctions: { catalogue: (of: string) => of.length },
			env: {
				OTEL_TRACES_EXPORTER: "otlp",
				OTEL_EXPORTER_OTLP_ENDPOINT: url,
				OTEL_BSP_SCHEDULE_DELAY: "100",
			},
		}),
		dataDir,
		size: 1,
		output: { echo: "none" },
		instruments: [telemetry()],
	});
	onTestFinished(async () => {
		await pool.close();
		rmSync(dataDir, { recursive: true, force: true });
	});
	return { pool, sdk };
}

test("one trace goes from the caller into the Python tool, back into this program, and is received whole", {
	timeout: 90_000,
}, async () => {
	const receiver = await Receiver.start(PYTHON);
	const { pool, sdk } = await open(receiver.url);
	expect(await pool.execute("price", { of: "tea" })).toBe(3);
	await sdk.tracers.forceFlush();
	await receiver.until("price");
	const call = await receiver.until("call price");
	await receiver.until("look up");
	expect(receiver.tree(call)).toBe(
		[
			"call price (@snakepit/telemetry)",
			"  attempt (@snakepit/telemetry)",
			"    price (snakepit_bridge)",
			"      look up (tools)",
			"        back-call catalogue (@snakepit/telemetry)",
		].join("\n"),
	);

	expect(await Array.fromAsync(pool.stream("count", { to: 2 }))).toEqual([
		0, 1,
	]);
	await sdk.tracers.forceFlush();
	await receiver.until("count");
	await receiver.until("item 1");
	expect(receiver.tree(await receiver.until("call count"))).toContain(
		"      item 0 (tools)\n      item 1 (tools)",
	);
});

test("what is not sampled here is not sampled there", {
	timeout: 90_000,
}, async () => {
	const receiver = await Receiver.start(PYTHON);
	const { pool } = await open(receiver.url, new AlwaysOffSampler());
	expect(await pool.execute("price", { of: "tea" })).toBe(3);
	// The worker sends what it has before it ends.
	await pool.close();
	expect(receiver.spans).toEqual([]);
});

test("a receiver that is down hurts no call", { timeout: 90_000 }, async () => {
	const { pool } = await open("http://127.0.0.1:9");
	expect(await pool.execute("price", { of: "tea" })).toBe(3);
	await expect(pool.execute("divide", { by: 0 })).rejects.toMatchObject({
		remote: { type: "ZeroDivisionError" },
	});
});
