/** A worker of node:cluster with a job that runs, which the primary disconnects; prints how it ended. */
import cluster from "node:cluster";
import { once } from "node:events";
import { openRun } from "../../src/index.ts";

const [, , dataDir = ""] = process.argv;
const DEADLINE_MS = 10_000;

if (cluster.isPrimary) {
	const worker = cluster.fork();
	await once(worker, "message");
	const late = setTimeout(() => worker.process.kill("SIGKILL"), DEADLINE_MS);
	worker.disconnect();
	const [code, signal] = await once(worker, "exit");
	clearTimeout(late);
	console.log(JSON.stringify({ code, signal }));
} else {
	const run = await openRun({ dataDir });
	const job = run.job(["sh", "-c", "echo runs; exec sleep 1000"]);
	for await (const line of job.lines()) {
		process.once("disconnect", () => process.exit(7));
		process.send?.(line);
	}
}
