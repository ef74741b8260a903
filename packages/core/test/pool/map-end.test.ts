import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/contract/errors.ts";
import { scripts } from "../../src/testing.ts";
import { collected, commands, source } from "./map-bench.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

describe("a map ends", () => {
	test("with the first error, which names its item, after the results that are there", async () => {
		const { pool, clock, events, close } = await virtualPool(
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
		await close();
	});

	test("when its consumer leaves: what runs is cancelled, and the input closed", async () => {
		const { pool, clock, events, close } = await virtualPool(
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
		await close();
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
		const { pool, clock, close } = await virtualPool({ commands });
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
		await close();
	});

	test("with an error that says how many items were done", async () => {
		for (const [items, said] of [
			[["hang"], "0 items done"],
			[[1, "hang"], "1 item done"],
			[[1, 2, "hang"], "2 items done"],
		] as const) {
			const { pool, clock, close } = await virtualPool({
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
			await close();
		}
	});

	test("with what its input throws, or its progress", async () => {
		const { pool, clock, close } = await virtualPool({ commands });
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
		await close();
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
		const { pool, close } = await virtualPool(
			{ commands },
			{ size: { min: 0, max: 1 }, queue: { limit: 0 } },
		);
		expect(await outcome(collected(pool.map("take", [1])))).toMatchObject({
			code: "QUEUE_FULL",
		});
		await close();
	});
});
