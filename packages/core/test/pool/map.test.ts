import { describe, expect, expectTypeOf, test } from "vitest";
import { InputError, ToolError } from "../../src/contract/errors.ts";
import type { Pool } from "../../src/pool/pool.ts";
import type { MapProgress } from "../../src/pool/work/call-map.ts";
import { scripts } from "../../src/testing.ts";
import { collected, commands, numbers, source } from "./map-bench.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

describe("the results of a map", () => {
	test("of ten times as many items as the queue takes are there, in order, and none is refused", async () => {
		const { pool, events } = await virtualPool(
			{ commands },
			{ size: 4, queue: { limit: 1_000 } },
		);
		const items = numbers(10_000);
		expect(await collected(pool.map("echo", items))).toEqual(items);
		const settled = events.of("call.settled");
		expect(settled).toHaveLength(10_000);
		expect(settled.every(({ outcome }) => outcome === "succeeded")).toBe(true);
	});

	test("come in the order of their items, or as they are there", async () => {
		const { pool, clock } = await virtualPool({ commands }, { size: 3 });
		const items = [30, 10, 20, 5];
		const inOrder = collected(pool.map("take", items));
		expect(await clock.advanceUntil(inOrder)).toEqual(items);
		const asTheyCome = collected(
			pool.map("take", items, { order: "completion" }),
		);
		expect(await clock.advanceUntil(asTheyCome)).toEqual([10, 5, 20, 30]);
	});

	test("of nothing are nothing, and what is never read is never begun", async () => {
		const { pool, events } = await virtualPool({ commands });
		expect(await collected(pool.map("echo", []))).toEqual([]);
		const { seen, items } = source(numbers(3));
		const unread = pool.map("echo", items);
		await unread.return?.();
		expect(await collected(unread)).toEqual([]);
		expect(seen.taken).toBe(0);
		expect(events.of("call.accepted")).toEqual([]);
	});

	test("may be undefined, and read by several consumers", async () => {
		const { pool } = await virtualPool({
			commands: { nothing: async () => undefined },
		});
		const results = pool.map("nothing", numbers(4));
		const all = await Promise.all(
			Array.from({ length: 6 }, () => results.next()),
		);
		expect(all.map(({ done }) => done)).toEqual([
			...Array(4).fill(false),
			true,
			true,
		]);
	});
});

describe("a map reports", () => {
	test("its progress after each item, and the number of all where that is known", async () => {
		const { pool, clock } = await virtualPool({ commands });
		const reports: MapProgress[] = [];
		const onProgress = (progress: MapProgress): void =>
			void reports.push(progress);
		await clock.advanceUntil(
			collected(pool.map("take", [1, 1], { onProgress })),
		);
		await clock.advanceUntil(
			collected(pool.map("take", new Set([1]), { onProgress })),
		);
		await clock.advanceUntil(
			collected(pool.map("take", source([1]).items, { onProgress })),
		);
		expect(reports).toEqual([
			{ done: 1, running: 0, total: 2 },
			{ done: 2, running: 0, total: 2 },
			{ done: 1, running: 0, total: 1 },
			{ done: 1, running: 0, total: undefined },
		]);
	});

	test("each call the options that its caller gave for all", async () => {
		let crashes = 1;
		const { pool, clock } = await virtualPool({
			commands: {
				...commands,
				sometimes: (call) =>
					crashes-- > 0 ? scripts.crash(call) : scripts.echo(call),
			},
		});
		const retried = collected(
			pool.map("sometimes", ["x"], { retry: { attempts: 2 } }),
		);
		expect(await clock.advanceUntil(retried)).toEqual(["x"]);
		const late = outcome(collected(pool.map("hang", [1], { timeoutMs: 20 })));
		await clock.advance(30);
		expect(await late).toMatchObject({ code: "CALL_TIMEOUT" });
	});

	test("wrong options of its caller at once", async () => {
		const { pool } = await virtualPool({ commands });
		const wrong =
			(items: unknown, options: object): (() => unknown) =>
			() =>
				pool.map("echo", items as number[], options);
		const refused = (code: string, message: RegExp) =>
			expect.objectContaining({
				code,
				message: expect.stringMatching(message),
			});
		expect(wrong([], { concurency: 2 })).toThrow(
			refused("UNKNOWN_OPTION", /Did you mean "concurrency"/),
		);
		expect(wrong([], { concurrency: 0 })).toThrow(
			refused("INVALID_OPTION", /"concurrency" must be a whole number/),
		);
		expect(wrong([], { order: "any" })).toThrow(
			refused("INVALID_OPTION", /"order"/),
		);
		expect(wrong([], { input: [] })).toThrow(
			refused("UNKNOWN_OPTION", /"input"/),
		);
		for (const items of [undefined, 7, "abc", {}])
			expect(wrong(items, {})).toThrow(
				refused("INVALID_OPTION", /the items must be an iterable/),
			);
	});

	test("an error that the adapter throws for every call keeps its own message", async () => {
		const shared = new InputError({
			code: "INVALID_ARGUMENTS",
			ran: "no",
			message: "that will not do",
		});
		const { pool } = await virtualPool({
			commands: {
				refuse: async () => {
					throw shared;
				},
			},
		});
		const end = await outcome(collected(pool.map("refuse", [1])));
		expect(end).toMatchObject({
			error: { item: 0, message: "Item 0: that will not do" },
		});
		expect(end.kind === "error" && end.error.stack).toMatch(
			/^InputError: Item 0: that will not do\n/,
		);
		expect([shared.message, shared.item]).toEqual([
			"that will not do",
			undefined,
		]);
	});
});

test("a map is typed by the tools of its pool", () => {
	interface Tools {
		double(args: { of: number }): number;
		countdown(args: { from: number }): AsyncIterable<number>;
	}
	const typed = (pool: Pool<Tools>) => ({
		right: () => pool.map("double", [{ of: 1 }]),
		// @ts-expect-error: its items are other ones
		wrong: () => pool.map("double", [{ off: 1 }]),
		// @ts-expect-error: it answers with a stream
		stream: () => pool.map("countdown", [{ from: 1 }]),
	});
	expectTypeOf<ReturnType<ReturnType<typeof typed>["right"]>>().toEqualTypeOf<
		AsyncIterableIterator<number, undefined>
	>();
});

describe("a map ends", () => {
	test("with the first error, which names its item, after the results that are there", async () => {
		const { pool, clock, events } = await virtualPool(
			{ commands },
			{ size: 3 },
		);
		const { seen, items } = source([1, 2, -5, 60_000, 60_000, 60_000]);
		const results = pool.map("take", items);
		const got: unknown[] = [];
		const ended = outcome(
			(async () => {
				for await (const result of results) got.push(result);
			})(),
		);
		await clock.advance(6);
		const end = await ended;
		expect(got).toEqual([1, 2]);
		expect(end.kind === "error" && end.error).toBeInstanceOf(ToolError);
		expect(end).toMatchObject({
			code: "TOOL_FAILED",
			ran: "maybe",
			error: {
				item: 2,
				message: expect.stringMatching(/^Item 2: .*-5 is too little/),
				remote: { type: "RangeError" },
			},
		});
		expect(seen).toEqual({ taken: 5, closed: 1 });
		expect(events.of("call.settled").map(({ code }) => code)).toEqual([
			undefined,
			undefined,
			"TOOL_FAILED",
			"CALL_ABORTED",
			"CALL_ABORTED",
		]);
		expect(await results.next()).toEqual({ done: true, value: undefined });
	});

	test("when its consumer leaves: what runs is cancelled, and the input closed", async () => {
		const { pool, clock, events } = await virtualPool(
			{ commands },
			{ size: 3 },
		);
		const { seen, items } = source([1, 60_000, 60_000, 60_000]);
		const left = (async () => {
			for await (const result of pool.map("take", items)) return result;
			return "nothing";
		})();
		expect(await clock.advanceUntil(left)).toBe(1);
		expect(seen.closed).toBe(1);
		// The third of them waited for the worker of the first, and was not made yet.
		expect(events.of("call.settled").map(({ code }) => code)).toEqual([
			undefined,
			"CALL_ABORTED",
			"CALL_ABORTED",
		]);
		expect(pool.statistics().calls.waiting).toBe(0);
	});

	test("when its signal aborts, also while its input or the pool lets it wait", async () => {
		const { pool, clock, close } = await virtualPool(
			{ commands },
			{ queue: { limit: 0 } },
		);
		const never = {
			[Symbol.asyncIterator]: () => ({
				next: () => new Promise<never>(() => {}),
				return: () => new Promise<never>(() => {}),
			}),
		};
		const busy = outcome(pool.execute("hang"));
		for (const items of [never, [1, 2], source([1]).items]) {
			const controller = new AbortController();
			const { signal } = controller;
			const ended = outcome(collected(pool.map("take", items, { signal })));
			await clock.advance(10);
			controller.abort("enough");
			expect(await ended).toMatchObject({
				code: "CALL_ABORTED",
				ran: "no",
				error: { cause: "enough" },
			});
		}
		const signal = AbortSignal.abort("before");
		expect(
			await outcome(collected(pool.map("take", [1], { signal }))),
		).toMatchObject({ code: "CALL_ABORTED", ran: "no" });
		await close({ manner: "forced" });
		await busy;
	});

	test("when what it runs is aborted by its signal, as maybe run", async () => {
		const { pool, clock } = await virtualPool({ commands });
		const controller = new AbortController();
		const { signal } = controller;
		const ended = outcome(collected(pool.map("hang", [1], { signal })));
		await clock.advance(10);
		controller.abort("enough");
		expect(await ended).toMatchObject({
			code: "CALL_ABORTED",
			ran: "maybe",
			error: { cause: "enough" },
		});
	});

	test("with an error that says how many items were done", async () => {
		for (const [items, said] of [
			[["hang"], "0 items done"],
			[[1, "hang"], "1 item done"],
			[[1, 2, "hang"], "2 items done"],
		] as const) {
			const { pool, clock } = await virtualPool({
				commands: {
					some: (call) =>
						call.args === "hang" ? scripts.hang(call) : scripts.echo(call),
				},
			});
			const controller = new AbortController();
			const { signal } = controller;
			const ended = outcome(collected(pool.map("some", items, { signal })));
			await clock.advance(10);
			controller.abort();
			expect(await ended).toMatchObject({
				code: "CALL_ABORTED",
				error: { message: expect.stringContaining(said) },
			});
		}
	});

	test("with what its input throws, or its progress", async () => {
		const { pool, clock } = await virtualPool({ commands });
		const broken = new Error("the disk is gone");
		async function* items(): AsyncGenerator<number> {
			yield 1;
			throw broken;
		}
		expect(
			await clock.advanceUntil(outcome(collected(pool.map("take", items())))),
		).toMatchObject({ error: broken });
		const onProgress = (): never => {
			throw broken;
		};
		const { seen, items: closed } = source([1, 2, 3]);
		const results = collected(pool.map("take", closed, { onProgress }));
		expect(await clock.advanceUntil(outcome(results))).toMatchObject({
			error: broken,
		});
		expect(seen.closed).toBe(1);
	});

	test("with its pool, also while it waits for room", async () => {
		const { pool, clock, close } = await virtualPool(
			{ commands },
			{ queue: { limit: 0 } },
		);
		const busy = outcome(pool.execute("take", 50));
		const ended = outcome(collected(pool.map("take", [1, 2])));
		await clock.settle();
		await close();
		expect(await ended).toMatchObject({
			code: "POOL_CLOSED",
			ran: "no",
			error: { item: 0 },
		});
		expect(await busy).toMatchObject({ value: 50 });
	});

	test("with an error where the pool takes nothing at all, and does not wait for ever", async () => {
		const { pool } = await virtualPool(
			{ commands },
			{ size: { min: 0, max: 1 }, queue: { limit: 0 } },
		);
		expect(await outcome(collected(pool.map("take", [1])))).toMatchObject({
			code: "QUEUE_FULL",
		});
	});
});

describe("a map has with the pool", () => {
	test.each([
		["as many items as it can run", undefined, 6],
		["as many as its caller says", 2, 2],
	])("%s at once", async (_how, concurrency, most) => {
		const { pool, clock, adapter } = await virtualPool(
			{ commands },
			{ size: 3, callsPerWorker: 2 },
		);
		const running: number[] = [];
		const results = collected(
			pool.map("take", Array(40).fill(10), {
				concurrency,
				onProgress: (progress) => running.push(progress.running),
			}),
		);
		await clock.advance(5);
		const { calls } = pool.statistics();
		expect(calls.running + calls.waiting).toBe(most);
		await clock.advanceUntil(results);
		expect(Math.max(...running)).toBeLessThan(most);
		const busiest = adapter.workers.map((each) => each.mostCallsRunning);
		expect(Math.max(...busiest)).toBeLessThanOrEqual(2);
	});

	test("no more than twice that before a consumer that waits, whose input waits too", async () => {
		const { pool, clock } = await virtualPool({ commands }, { size: 3 });
		const { seen, items } = source(numbers(1_000));
		const results = pool.map("echo", items);
		expect((await results.next()).value).toBe(0);
		await clock.advance(1_000);
		// One is handed over, six are held back.
		expect(seen.taken).toBe(7);
		for (const expected of [1, 2, 3])
			expect((await results.next()).value).toBe(expected);
		await clock.settle();
		expect(seen.taken).toBe(10);
		await results.return?.();
	});

	test("other items while the first one is slow", async () => {
		const { pool, clock } = await virtualPool({ commands }, { size: 2 });
		const { seen, items } = source([1_000, ...Array(20).fill(1)]);
		const results = collected(pool.map("take", items));
		await clock.advance(900);
		expect(seen.taken).toBe(4);
		expect(await clock.advanceUntil(results)).toHaveLength(21);
	});

	test("nothing while others fill the queue, and continues when there is room", async () => {
		const { pool, clock } = await virtualPool(
			{ commands },
			{ size: 1, queue: { limit: 2 } },
		);
		const others = [100, 100, 100].map((ms) => pool.execute("take", ms));
		const results = collected(pool.map("take", [1, 2, 3], { concurrency: 3 }));
		await clock.advance(50);
		expect(pool.statistics().calls.accepted).toBe(3);
		expect(await clock.advanceUntil(results)).toEqual([1, 2, 3]);
		expect(await Promise.all(others)).toEqual([100, 100, 100]);
	});

	test("what a worker is free for, where nothing may wait", async () => {
		const { pool, clock } = await virtualPool(
			{ commands },
			{ size: 2, queue: { limit: 0 } },
		);
		const results = collected(
			pool.map("take", Array(9).fill(5), { concurrency: 9 }),
		);
		expect(await clock.advanceUntil(results)).toHaveLength(9);
	});

	test("what the next worker is free for, where nothing may wait and the only worker dies", async () => {
		const { pool, adapter, clock } = await virtualPool(
			{ commands },
			{ queue: { limit: 0 }, start: { backoffMs: 10 } },
		);
		const busy = outcome(pool.execute("hang"));
		const mapped = outcome(collected(pool.map("take", [1, 2])));
		await clock.settle();
		adapter.workers[0]?.crash();
		expect(await clock.advanceUntil(mapped)).toMatchObject({ value: [1, 2] });
		expect(await busy).toMatchObject({ code: "WORKER_EXITED" });
	});

	test("an error where nothing may wait, and no worker can be started any more", async () => {
		const { pool, adapter, clock } = await virtualPool(
			{
				commands,
				boot: (process, attempt) => (attempt > 1 ? process.exit(3) : undefined),
			},
			{ queue: { limit: 0 }, start: { backoffMs: 10 } },
		);
		const busy = outcome(pool.execute("hang"));
		const mapped = outcome(collected(pool.map("take", [1, 2])));
		await clock.settle();
		adapter.workers[0]?.crash();
		expect(await clock.advanceUntil(mapped)).toMatchObject({
			code: "QUEUE_FULL",
			error: { item: 0 },
		});
		expect(await busy).toMatchObject({ code: "WORKER_EXITED" });
	});

	test("an error where nothing may wait, and the pool is closed while no worker is there", async () => {
		const { pool, adapter, clock, close } = await virtualPool(
			{
				commands,
				boot: (process, attempt) => (attempt > 1 ? process.exit(3) : undefined),
			},
			{ queue: { limit: 0 }, start: { backoffMs: 60_000 } },
		);
		const busy = outcome(pool.execute("hang"));
		const mapped = outcome(collected(pool.map("take", [1, 2])));
		await clock.settle();
		adapter.workers[0]?.crash();
		expect(await clock.advanceUntil(busy)).toMatchObject({
			code: "WORKER_EXITED",
		});
		await clock.advance(1);
		await close();
		expect(await mapped).toMatchObject({ code: "POOL_CLOSED" });
	});

	test("beside another one, all of both", async () => {
		const { pool, clock } = await virtualPool(
			{ commands },
			{ size: 2, queue: { limit: 3 } },
		);
		const both = Promise.all(
			[100, 200].map((length) =>
				collected(pool.map("take", Array(length).fill(1), { concurrency: 50 })),
			),
		);
		const [one, two] = await clock.advanceUntil(both);
		expect([one?.length, two?.length]).toEqual([100, 200]);
	});
});
