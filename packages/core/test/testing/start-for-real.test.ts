import { join } from "node:path";
import { expect, test } from "vitest";
import type { Adapter } from "../../src/contract/adapter.ts";
import { startForReal } from "../../src/testing.ts";

const stubborn = join(import.meta.dirname, "../bestiary/ignores-sigterm.sh");

test("a worker that is not ready in time is gone when its start has failed", async () => {
	let pid = 0;
	const adapter: Adapter = {
		name: "stubborn",
		launch: () => ({ executable: stubborn }),
		connect: (worker, signal) => {
			pid = worker.pid;
			return new Promise((_, reject) => {
				signal.addEventListener("abort", () => reject(signal.reason));
			});
		},
	};
	await expect(
		startForReal(adapter, {
			start: { timeoutMs: 200 },
			stop: { killAfterMs: 200 },
		}),
	).rejects.toMatchObject({ code: "START_TIMEOUT" });
	expect(pid).toBeGreaterThan(0);
	expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});
