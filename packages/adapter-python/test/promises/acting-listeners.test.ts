import { getEventListeners } from "node:events";
import { createPool, type SnakepitEvent } from "@snakepit/core";
import { EventRecorder } from "@snakepit/core/testing";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { rounds } from "../../../../scripts/test-effort.ts";
import { testPool } from "../../../../scripts/test-pool.ts";
import { SeededRandom } from "../../../core/src/testing/virtual-pool.ts";
import { isAlive } from "../../../core/test/cleanup/hosts.ts";
import { Actor } from "../../../core/test/pool/acting-listeners.ts";
import { python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";

const tools = new URL("./acts.py", import.meta.url);
const COMMANDS = ["echo", "echo", "work", "fail", "crash", "hang", "stuck"];

/** In virtual worlds, and far more often: packages/core/test/pool/listener-lives.test.ts. */
test.each([1, 4])(
	"whatever listeners do to real workers of %i calls, a call settles once and nothing outlives the close",
	{ timeout: 300_000 },
	async (callsPerWorker) => {
		for (let round = 1; round <= rounds(20, 2); round++) {
			const actor = new Actor(new SeededRandom(round), COMMANDS, 40);
			const recorder = new EventRecorder();
			const { events } = recorder;
			const pool = await createPool({
				adapter: python({ tools, python: PYTHON }),
				dataDir: temporaryDirectory(),
				size: { min: 2, max: 3 },
				callsPerWorker,
				calls: { cancelGraceMs: 200 },
				queue: { limit: 20 },
				start: { maxRestarts: 6, backoffMs: 10 },
				stop: { killAfterMs: 1_000 },
				output: { echo: "none" },
				onEvent: recorder.record,
			});
			actor.pool = pool;
			const order: SnakepitEvent[] = [];
			const before = events.length;
			pool.on(() => actor.interfere(0.2));
			pool.on((event) => order.push(event));
			for (let moment = 0; moment < 10; moment++) {
				actor.act();
				actor.execute();
				// As long as the quickest of what runs: no call is long that is not cancelled.
				const quick = pool.execute("work", [5], { timeoutMs: 100 });
				await quick.catch(() => {});
			}
			for (const abort of actor.aborts) abort.abort();
			await pool.close({ drainMs: 200 });
			const pids = events.flatMap((event) =>
				event.type === "worker.spawned" ? event.pid : [],
			);
			expect(pids.length).toBeGreaterThanOrEqual(2);
			expect(pids.filter(isAlive)).toEqual([]);
			await Promise.all([...actor.outcomes, ...actor.controls]);
			for (const { signal } of actor.aborts)
				expect(getEventListeners(signal, "abort")).toEqual([]);
			expect(pool.statistics().calls).toMatchObject({ waiting: 0, running: 0 });
			const ofPool = events.slice(before).filter((event) => "pool" in event);
			expect(order.filter((event) => "pool" in event)).toEqual(ofPool);
			recorder.assertPaired();
		}
	},
);

test("calls that are made while a worker has not ended a cancelled one do not die with it", {
	timeout: 60_000,
}, async () => {
	const { pool } = await testPool({
		adapter: python({ tools, python: PYTHON }),
		callsPerWorker: 4,
		calls: { cancelGraceMs: 300 },
	});
	const stuck = pool.execute("stuck", [1], { timeoutMs: 200 });
	await expect(stuck).rejects.toMatchObject({ code: "CALL_TIMEOUT" });
	// They take longer than the grace.
	const later = Array.from({ length: 6 }, () => pool.execute("work", [500]));
	expect(await Promise.all(later)).toEqual(later.map(() => null));
});
