import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { PYTHON } from "../programs/worker-adapter.ts";
import { lives, look } from "../src/harness/processes.ts";
import { Stage } from "../src/harness/stage.ts";

const STAYS = fileURLToPath(new URL("../programs/stays.py", import.meta.url));
const ENDED_MS = 50;

/** A stage, and a process that is connected to its exit watcher. */
async function stageWithProcess() {
	const stage = await Stage.open(1, []);
	const child = spawn(PYTHON, [STAYS, "worker"], {
		stdio: "ignore",
		env: { ...process.env, ...stage.env },
	});
	onTestFinished(async () => {
		child.kill("SIGKILL");
		await stage[Symbol.asyncDispose]();
	});
	await stage.sees("worker", 1);
	const seen = look(child.pid ?? -1);
	if (seen === undefined) throw new Error("It did not start.");
	return { stage, child, seen };
}

test("an end that came in time and was read late is no leftover", async () => {
	const { stage, child, seen } = await stageWithProcess();
	const began = performance.now();
	const ending = stage.untilGone(began, [], ENDED_MS);
	child.kill("SIGKILL");
	// This program stands still, as on a machine with too much to do.
	while (lives(seen) || performance.now() - began < 2 * ENDED_MS);
	expect(await ending).toMatchObject({ leftovers: 0, left: [] });
});

test("what lives at the deadline is a leftover", async () => {
	const { stage, seen } = await stageWithProcess();
	const ending = stage.untilGone(performance.now(), [], ENDED_MS);
	expect(await ending).toMatchObject({
		leftovers: 1,
		left: [expect.stringContaining(String(seen.pid))],
	});
});
