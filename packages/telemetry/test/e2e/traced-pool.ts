import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AlwaysOffSampler } from "@opentelemetry/sdk-trace";
import { pythonGrpc } from "@snakepit/adapter-grpc-python";
import { createPool, type Pool } from "@snakepit/core";
import { onTestFinished } from "vitest";
import { telemetry } from "../../src/index.ts";
import { MemorySdk } from "../support/memory-sdk.ts";
import { ReceiverExporter } from "./receiver-exporter.ts";

/** The development environment, which has the SDK for Python. */
export const PYTHON: string = fileURLToPath(
	new URL("../../../../python/.venv/bin/python", import.meta.url),
);

export interface TracedPool {
	readonly pool: Pool;
	readonly sdk: MemorySdk;
	/** Where the ledger is: a directory of the test's own. */
	readonly dataDir: string;
}

/** A pool of one Python worker that exports to `url`, as this program does; closed when the test is finished. */
export async function openTracedPool(
	url: string,
	sampler?: AlwaysOffSampler,
): Promise<TracedPool> {
	const sdk = new MemorySdk({
		exporter: new ReceiverExporter(url),
		...(sampler && { sampler }),
	}).register();
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-trace-"));
	const pool = await createPool({
		adapter: pythonGrpc({
			tools: join(import.meta.dirname, "tools.py"),
			python: PYTHON,
			hostFunctions: {
				catalogue: (of: string) => of.length,
				sell: () => {
					throw Object.assign(new Error("sold out"), { code: "SOLD_OUT" });
				},
			},
			env: {
				OTEL_TRACES_EXPORTER: "otlp",
				OTEL_EXPORTER_OTLP_ENDPOINT: url,
				OTEL_SERVICE_NAME: "workers",
				OTEL_BSP_SCHEDULE_DELAY: "100",
				OTEL_BLRP_SCHEDULE_DELAY: "100",
				OTEL_METRIC_EXPORT_INTERVAL: "100",
				OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED: "true",
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
	return { pool, sdk, dataDir };
}
