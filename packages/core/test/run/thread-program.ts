/** A run in a thread of a program that has one itself; see threads.test.ts. */
import { once } from "node:events";
import { parentPort, workerData } from "node:worker_threads";
import { readHistory } from "../../src/inspect/history.ts";
import { openRun } from "../../src/run/open-run.ts";

const run = await openRun({
	dataDir: workerData,
});
parentPort?.postMessage({
	runId: run.registry.runId,
	spared: run.cleanupReport.sparedRuns,
	runs: (await Array.fromAsync(readHistory({ dataDir: workerData }))).length,
});
if (parentPort) await once(parentPort, "message");
await run.close();
parentPort?.close();
