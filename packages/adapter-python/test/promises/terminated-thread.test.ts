import { createInterface } from "node:readline";
import { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { marked, untilNothingIsLeft } from "./host-process.ts";

const program = new URL("./host.ts", import.meta.url);
/** What workers do when the thread is terminated; one more is idle. */
const OCCUPATIONS = ["sleep", "busy_loop", "hold_the_gil", "stop_itself"];
/** As when a host is killed; the usual time is some tens of milliseconds. */
const GONE_MS = 1_000;

/** A pool in a thread of this process, which goes on after it. */
async function openInThread(
	adapter: object,
): Promise<{ readonly thread: Worker; readonly runId: string }> {
	const orders = {
		dataDir: temporaryDirectory(),
		size: 1 + OCCUPATIONS.length,
		first: "with_a_child",
		afterwards: OCCUPATIONS,
		adapter,
	};
	const thread = new Worker(program, {
		argv: [JSON.stringify(orders)],
		execArgv: ["--conditions=snakepit-source"],
		stdout: true,
	});
	onTestFinished(async () => void (await thread.terminate()));
	let runId: string | undefined;
	for await (const line of createInterface({ input: thread.stdout })) {
		const fact = JSON.parse(line);
		runId ??= fact.runId;
		if (fact.ready !== undefined && runId !== undefined)
			return { thread, runId };
	}
	throw new Error("The thread ended before its pool was ready.");
}

describe.skipIf(process.platform !== "linux").each<[string, object]>([
	["started by themselves", {}],
	["forked from a preloaded parent", { preload: "tools" }],
])("Python workers %s", (_how, adapter) => {
	test("end with a thread that is terminated with its pool open, whatever they do, each with a child in its group; the program goes on", {
		timeout: 120_000,
	}, async () => {
		const { thread, runId } = await openInThread(adapter);
		expect(marked(runId).length).toBeGreaterThanOrEqual(
			2 * (1 + OCCUPATIONS.length),
		);
		await thread.terminate();
		await untilNothingIsLeft(runId, GONE_MS);
	});
});
