import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, test } from "vitest";
import type { CallProgress } from "../../src/contract/connection.ts";
import { type ScriptedCall, scripts } from "../../src/testing.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

/** Reports 1 %, 2 % and so on up to its first argument, one for each so many milliseconds. */
async function* reporting({ args, worker, onProgress }: ScriptedCall) {
	const [reports, everyMs] = args as [number, number];
	for (let report = 1; report <= reports; report++) {
		void onProgress?.({ fraction: report / 100, message: "" });
		if (everyMs > 0) await worker.process.sleep(everyMs);
	}
	yield reports;
}

const commands = {
	chunks: reporting,
	work: async (call: ScriptedCall) => (await reporting(call).next()).value,
};

/** Percentages, and when they arrived. */
function listener(now: () => number) {
	const arrived: (readonly [percent: number, atMs: number])[] = [];
	const onProgress = ({ fraction = Number.NaN }: CallProgress): void => {
		arrived.push([Math.round(fraction * 100), now()]);
	};
	return { arrived, onProgress };
}

describe("reports of progress", () => {
	test("arrive as they are made, in the context of the call", async () => {
		const { pool, clock } = await virtualPool({ commands });
		const storage = new AsyncLocalStorage<string>();
		const seen: unknown[] = [];
		const onProgress = ({ fraction }: CallProgress): void => {
			seen.push(fraction, storage.getStore());
		};
		const call = storage.run("of the caller", () =>
			pool.execute("work", [2, 1_000], { onProgress }),
		);
		await clock.advance(5_000);
		expect(await call).toBe(2);
		expect(seen).toEqual([0.01, "of the caller", 0.02, "of the caller"]);
	});

	test("arrive at most ten times a second, the newest of them", async () => {
		const { pool, clock } = await virtualPool({ commands });
		const { arrived, onProgress } = listener(() => clock.now());
		const beganMs = clock.now();
		const call = pool.execute("work", [50, 10], { onProgress });
		await clock.advance(1_000);
		await call;
		expect(arrived.map(([percent, atMs]) => [percent, atMs - beganMs])).toEqual(
			[
				[1, 0],
				[10, 100],
				[20, 200],
				[30, 300],
				[40, 400],
				[50, 500],
			],
		);
	});

	test("end with the last one before the result, and nothing follows", async () => {
		const { pool, clock } = await virtualPool({ commands });
		const { arrived, onProgress } = listener(() => clock.now());
		const order: unknown[] = [];
		await pool
			.execute("work", [9, 0], { onProgress })
			.then(() => order.push(...arrived.map(([percent]) => percent), "result"));
		expect(order).toEqual([1, 9, "result"]);
		await clock.advance(1_000);
		expect(arrived).toHaveLength(2);
	});

	test("arrive for a stream", async () => {
		const { pool } = await virtualPool({ commands });
		const { arrived, onProgress } = listener(() => 0);
		const stream = pool.stream("chunks", [3, 0], { onProgress });
		expect(await Array.fromAsync(stream)).toEqual([3]);
		expect(arrived.map(([percent]) => percent)).toEqual([1, 3]);
	});

	test("stop when the call is aborted", async () => {
		const { pool, clock } = await virtualPool({ commands });
		const { arrived, onProgress } = listener(() => clock.now());
		const abort = new AbortController();
		const { signal } = abort;
		const call = outcome(
			pool.execute("work", [50, 10], { onProgress, signal }),
		);
		await clock.advance(250);
		abort.abort();
		expect(await call).toMatchObject({ code: "CALL_ABORTED" });
		await clock.advance(1_000);
		expect(arrived.map(([percent]) => percent)).toEqual([1, 10, 20]);
	});

	test("of an attempt whose worker died are not mixed with those of the next", async () => {
		const { pool, clock } = await virtualPool({
			commands: {
				fragile: async (call: ScriptedCall) => {
					const { worker, onProgress } = call;
					const percent = worker.number * 10;
					for (const more of [0, 1])
						void onProgress?.({
							fraction: (percent + more) / 100,
							message: "",
						});
					if (worker.number === 1) return scripts.crash(call);
					await worker.process.sleep(200);
				},
			},
		});
		const { arrived, onProgress } = listener(() => clock.now());
		const retry = { attempts: 2 };
		const call = pool.execute("fragile", undefined, { onProgress, retry });
		await clock.advance(5_000);
		await call;
		expect(arrived.map(([percent]) => percent)).toEqual([10, 21]);
	});

	test("that wait when their worker dies are dropped, also where the next attempt begins late", async () => {
		const { pool, clock } = await virtualPool({
			commands: {
				fragile: async (call: ScriptedCall) => {
					const { worker, onProgress } = call;
					for (const more of [0, 1])
						void onProgress?.({
							fraction: (worker.number * 10 + more) / 100,
							message: "",
						});
					if (worker.number === 1) return scripts.crash(call);
				},
			},
			connect: ({ number, process }) =>
				number > 1 ? process.sleep(1_000) : undefined,
		});
		const { arrived, onProgress } = listener(() => clock.now());
		const retry = { attempts: 2 };
		await clock.advanceUntil(
			pool.execute("fragile", undefined, { onProgress, retry }),
		);
		expect(arrived.map(([percent]) => percent)).toEqual([10, 20, 21]);
	});

	test("do no harm when the listener throws: it is an event, and the call goes on", async () => {
		const { pool, clock, events } = await virtualPool({ commands });
		const error = new Error("of the listener");
		const onProgress = (): void => {
			throw error;
		};
		const call = pool.execute("work", [1, 1], { onProgress });
		await clock.advance(10);
		expect(await call).toBe(1);
		expect(events.of("listener.threw")).toMatchObject([
			{ of: "onProgress", error },
		]);
	});

	test("are not requested if nothing listens", async () => {
		const asked: unknown[] = [];
		const { pool } = await virtualPool({
			commands: { look: (call) => asked.push(call.onProgress) },
		});
		await pool.execute("look");
		expect(asked).toEqual([undefined]);
	});

	test("say that a call has begun that was prefetched", async () => {
		const { pool, clock } = await virtualPool(
			{ commands, prefetch: { gapMs: 0, answerMs: 50 } },
			{ size: 1 },
		);
		for (let warm = 0; warm < 20; warm++) {
			const call = pool.execute("work", [0, 0]);
			await clock.advance(100);
			await call;
		}
		const calls = [1, 2].map(() =>
			pool.execute("work", [1, 1], { onProgress: () => {} }),
		);
		await clock.advance(1_000);
		expect(await Promise.all(calls)).toEqual([1, 1]);
	});
});
