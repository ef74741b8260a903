/** A run in a thread of a program that has one itself; see threads.test.ts. */
import { once } from "node:events";
import { parentPort, workerData } from "node:worker_threads";
import { acquireRun } from "../../src/run/acquire-run.ts";

const run = await acquireRun({
	dataDir: workerData,
	strategy: undefined,
	emit: () => {},
});
parentPort?.postMessage({
	runId: run.registry.runId,
	spared: run.report.sparedRuns,
	runs: run.registry.runs().length,
});
if (parentPort) await once(parentPort, "message");
await run.release();
parentPort?.close();
