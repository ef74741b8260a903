import { createPool } from "@snakepit/core";
import { expect, test } from "vitest";
import { python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";
import { freshDirectory } from "./host-process.ts";

const tools = new URL("./waits.py", import.meta.url);

test.each([
	"sleep",
	"busy_loop",
	"lock",
	"socket_read",
	"child_process",
	"async_sleep",
	"between_items",
])(
	"a cancelled %s frees the worker, which is not replaced",
	{ timeout: 60_000 },
	async (tool) => {
		await using pool = await createPool({
			adapter: python({ tools, python: PYTHON }),
			size: 1,
			dataDir: freshDirectory(),
			calls: { cancelGraceMs: 10_000 },
			output: { echo: "none" },
		});
		const pid = await pool.execute("pid");
		for (let round = 0; round < 3; round++) {
			const abort = new AbortController();
			const begun = new Promise<void>((resolve) => {
				const stop = pool.on("worker.output", ({ line }) => {
					if (line !== `begun ${tool}`) return;
					stop();
					resolve();
				});
			});
			const call = pool.execute(tool, {}, { signal: abort.signal });
			call.catch(() => {});
			await begun;
			abort.abort();
			await expect(call).rejects.toMatchObject({
				code: "CALL_ABORTED",
				ran: "maybe",
			});
			expect(await pool.execute("pid")).toBe(pid);
		}
		expect(pool.statistics().restarts).toBe(0);
	},
);

test("a call that holds Python's lock in C is replaced after the grace", {
	timeout: 60_000,
}, async () => {
	await using pool = await createPool({
		adapter: python({ tools, python: PYTHON }),
		size: 1,
		dataDir: freshDirectory(),
		calls: { cancelGraceMs: 300 },
	});
	const pid = await pool.execute("pid");
	const call = pool.execute("hold_the_gil", {}, { timeoutMs: 200 });
	await expect(call).rejects.toMatchObject({
		code: "CALL_TIMEOUT",
		ran: "maybe",
	});
	expect(await pool.execute("pid")).not.toBe(pid);
});

test("a worker in which something keeps every call from its end is replaced, though each obeys its cancel", {
	timeout: 60_000,
}, async () => {
	await using pool = await createPool({
		adapter: python({ tools, python: PYTHON }),
		size: 1,
		dataDir: freshDirectory(),
	});
	const reasons: string[] = [];
	pool.on("worker.retiring", ({ reason }) => reasons.push(reason));
	const stuck = await pool.execute("leaves_a_lock_held");
	while (reasons.length === 0) {
		const call = pool.execute("needs_the_lock", {}, { timeoutMs: 200 });
		const outcome: unknown = await call.catch((error: unknown) => error);
		// The worker may be replaced while the call waits for it.
		if (reasons.length > 0 && typeof outcome === "number") {
			expect(outcome).not.toBe(stuck);
			break;
		}
		expect(outcome).toMatchObject({ code: "CALL_TIMEOUT" });
	}
	expect(reasons).toEqual(["cancels"]);
	expect(await pool.execute("needs_the_lock")).not.toBe(stuck);
	expect(pool.statistics().restarts).toBe(0);
});
