import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
	createPool,
	type Pool,
	type PoolOptions,
	type RunOptions,
} from "@snakepit/core";
import { EventRecorder } from "@snakepit/core/testing";
import { onTestFinished } from "vitest";
import type { Cluster } from "../../../../scripts/ray/cluster.ts";
import { type RayPythonOptions, rayPython } from "../../src/index.ts";

/** A start on a busy machine: Ray's own worker process is 3 s of processor time. */
export const START_MS = 300_000;

/** A file of tools, alone in a directory. */
export function toolsOf(cluster: Cluster, source: string): string {
	const path = join(mkdtempSync(join(cluster.disk, "tools-")), "tools.py");
	writeFileSync(path, source);
	return path;
}

/** A pool on the cluster; closed when the test is finished. */
export async function rayPool(
	cluster: Cluster,
	tools: string,
	options: Partial<PoolOptions & RunOptions> = {},
	ray: Partial<RayPythonOptions> = {},
): Promise<{
	readonly pool: Pool;
	readonly events: EventRecorder;
	readonly dataDir: string;
}> {
	const events = new EventRecorder();
	const dataDir = mkdtempSync(join(cluster.disk, "data-"));
	const pool = await createPool({
		adapter: rayPython({
			python: cluster.options.python,
			address: cluster.address,
			tools,
			...ray,
		}),
		name: "far",
		dataDir,
		size: 1,
		start: { timeoutMs: START_MS },
		output: { echo: "none" },
		onEvent: events.record,
		...options,
	});
	onTestFinished(() => pool.close({ drainMs: 0 }));
	return { pool, events, dataDir };
}
