import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { readHistory } from "../../src/inspect/history.ts";
import { openRun } from "../../src/run/open-run.ts";
import { Host, temporaryDirectory } from "../cleanup/hosts.ts";

test("a thread has a run of its own; neither opens the other's files, so both locks hold to the end", async () => {
	const dataDir = temporaryDirectory();
	const run = await openRun({
		dataDir,
	});
	const thread = new Worker(join(import.meta.dirname, "thread-program.ts"), {
		workerData: dataDir,
	});
	const [inThread] = await once(thread, "message");
	expect(inThread).toMatchObject({ spared: [], runs: 1 });
	expect(inThread.runId).not.toBe(run.registry.runId);
	expect((await Array.fromAsync(readHistory({ dataDir }))).length).toBe(1);

	const alive = async (): Promise<readonly string[]> => {
		const { report } = await new Host({ dataDir }).up();
		expect(report.deadRuns).toEqual([]);
		return report.sparedRuns.map(({ runId }) => runId);
	};
	const both = [run.registry.runId, inThread.runId];
	expect(await alive()).toEqual(expect.arrayContaining(both));
	thread.postMessage("end");
	await once(thread, "exit");
	expect(await alive()).toContain(run.registry.runId);
	await run.close();
});

test("a worker of node:cluster can be disconnected while its own workers run", async () => {
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-cluster-"));
	onTestFinished(() => rmSync(dataDir, { recursive: true }));
	const program = join(import.meta.dirname, "cluster-program.ts");
	const { stdout } = await promisify(execFile)(process.execPath, [
		...["--conditions=snakepit-source", program, dataDir],
	]);
	expect(JSON.parse(stdout)).toEqual({ code: 7, signal: null });
});
