import { createHook } from "node:async_hooks";
import { expect, test } from "vitest";
import { commands } from "./map-bench.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

test("calls that are over leave no asynchronous resource open, which Jest would report as an open handle", async () => {
	const { pool, clock, close } = await virtualPool({ commands });
	const open = new Map<number, string>();
	const hook = createHook({
		init: (id, type) => {
			if (type.startsWith("snakepit.")) open.set(id, type);
		},
		destroy: (id) => void open.delete(id),
	}).enable();
	try {
		await pool.execute("echo", 1);
		await outcome(pool.execute("fail"));
		const abort = new AbortController();
		const hung = outcome(pool.execute("hang", 0, { signal: abort.signal }));
		expect([...open.values()]).toContain("snakepit.call");
		abort.abort();
		await hung;
		await pool.stream("echo").return?.();
		await outcome(pool.stream("echo", 1).next());
		for await (const _ of pool.map("echo", [1, 2, 3]));
		for await (const _ of pool.map("echo", [1, 2, 3])) break;
		await outcome(pool.use(async () => 1));
		// Destruction is reported in a later turn.
		await new Promise((resolve) => setImmediate(resolve));
		expect([...open.values()]).toEqual([]);
	} finally {
		hook.disable();
		await clock.advanceUntil(close());
	}
});
