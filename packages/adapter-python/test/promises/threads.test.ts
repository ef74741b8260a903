import { createPool, type Pool } from "@snakepit/core";
import { expect, onTestFinished, test } from "vitest";
import { python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";
import { freshDirectory } from "./host-process.ts";

const tools = new URL("./waits.py", import.meta.url);

/** A pool of one worker with three threads. */
async function open(cancelGraceMs: number): Promise<Pool> {
	const pool = await createPool({
		adapter: python({ tools, python: PYTHON }),
		size: 1,
		callsPerWorker: 3,
		dataDir: freshDirectory(),
		calls: { cancelGraceMs },
		output: { echo: "none" },
	});
	onTestFinished(() => pool.close({ drainMs: 0 }));
	return pool;
}

test("a deadline and an abort end the call that they are of, and no other", {
	timeout: 60_000,
}, async () => {
	const pool = await open(30_000);
	const pid = await pool.execute("pid");
	const [, held] = begin(pool, "hold");
	for (let round = 0; round < 2; round++) {
		const abort = new AbortController();
		const [begun, aborted] = begin(pool, "busy_loop", {
			signal: abort.signal,
		});
		await begun;
		abort.abort();
		await expect(aborted).rejects.toMatchObject({ code: "CALL_ABORTED" });
		const late = pool.execute("busy_loop", {}, { timeoutMs: 300 });
		await expect(late).rejects.toMatchObject({ code: "CALL_TIMEOUT" });
	}
	expect(await pool.execute("release")).toBe(pid);
	expect(await held).toBe(pid);
	expect(pool.statistics().restarts).toBe(0);
});

test.each(["stay_in_c", "hold_the_gil"])(
	"where a cancelled call in a thread does not come back (%s), the worker is replaced after the grace, and its other calls are lost",
	{ timeout: 60_000 },
	async (tool) => {
		const pool = await open(300);
		const pid = await pool.execute("pid");
		const [holds, held] = begin(pool, "hold");
		const lost = expect(held).rejects.toMatchObject({
			code: "WORKER_REPLACED",
			ran: "maybe",
		});
		await holds;
		const abort = new AbortController();
		const [begun, aborted] = begin(pool, tool, { signal: abort.signal });
		await begun;
		abort.abort();
		await expect(aborted).rejects.toMatchObject({
			code: "CALL_ABORTED",
			ran: "maybe",
		});
		await lost;
		expect(await pool.execute("pid")).not.toBe(pid);
	},
);

/** Calls a tool that prints `begun NAME`; returns when it has begun, and its answer. */
function begin(
	pool: Pool,
	tool: string,
	options: { readonly signal?: AbortSignal } = {},
): [begun: Promise<void>, answer: Promise<unknown>] {
	const begun = new Promise<void>((resolve) => {
		const stop = pool.on("worker.output", ({ line }) => {
			if (line !== `begun ${tool}`) return;
			stop();
			resolve();
		});
	});
	const answer = pool.execute(tool, {}, options);
	answer.catch(() => {});
	return [begun, answer];
}
