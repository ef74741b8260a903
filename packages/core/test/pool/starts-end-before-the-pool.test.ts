import { expect, test } from "vitest";
import type { FakeProcess } from "../../src/testing/fake-process.ts";
import { virtualPoolBench } from "../../src/testing/virtual-pool.ts";
import { scripts } from "../../src/testing.ts";
import { outcome } from "./virtual-pool.ts";

const NEVER = new Promise<void>(() => {});

test.each<[what: string, (process: FakeProcess) => void]>([
	[
		"something keeps the worker's output open",
		(process) => process.fork((child) => child.idle(), { newGroup: true }),
	],
	[
		"the worker's process cannot be killed",
		(process) => {
			process.killable = false;
		},
	],
])(
	"the end of a start is reported before the pool is closed, also when %s",
	async (_what, boot) => {
		const { pool, clock, close, events } = await virtualPoolBench(
			{
				commands: { stuck: scripts.hangIgnoringAbort },
				boot: (process, attempt) => {
					if (attempt === 1) return;
					boot(process);
					return NEVER;
				},
				launchPayload: {},
			},
			{ size: { min: 1, max: 2 }, start: { timeoutMs: 600_000 } },
		);
		const calls = [1, 2].map(() => outcome(pool.execute("stuck")));
		await clock.advance(1_000);
		expect(events.of("worker.spawned")).toHaveLength(2);
		// What cannot be killed is said by it.
		const closed = pool.close({ manner: "forced" }).catch((error) => {
			expect(error).toMatchObject({ code: "STILL_THERE" });
		});
		const reported = closed.then(() => {
			events.assertPaired();
			return events.of("worker.start_failed");
		});
		const begunMs = clock.now();
		expect(await clock.advanceUntil(reported)).toMatchObject([
			{ error: { code: "START_WITHDRAWN" } },
		]);
		expect(clock.now() - begunMs).toBeLessThan(60_000);
		await Promise.all(calls);
		await close().catch(() => {});
	},
);
