import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { SystemProcessHost } from "../../src/infrastructure.ts";
import { eventually } from "../cleanup/hosts.ts";

const machine = new SystemProcessHost();

test.runIf(process.platform === "linux")(
	"a thread that is terminated with its run open takes the guard and a worker that knows nothing of its host with it; the program goes on",
	async () => {
		const dataDir = mkdtempSync(join(tmpdir(), "snakepit-guard-"));
		const thread = new Worker(new URL("./host-program.ts", import.meta.url), {
			argv: [dataDir, "echo up; exec sleep 100000"],
			execArgv: ["--conditions=snakepit-source"],
			stdout: true,
		});
		onTestFinished(async () => {
			await thread.terminate();
			rmSync(dataDir, { recursive: true });
		});
		const pids: number[] = [];
		for await (const line of createInterface({ input: thread.stdout })) {
			if (line === "up") break;
			pids.push(Number(line.split(" ")[1]));
		}
		const isAlive = (pid: number): boolean => machine.observe(pid) !== "gone";
		expect(pids.map(isAlive)).toEqual([true, true]);
		await thread.terminate();
		await eventually("the end of guard and worker", () => !pids.some(isAlive));
	},
	60_000,
);
