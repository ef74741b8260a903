import { describe, expect, expectTypeOf, test } from "vitest";
import { InputError } from "../../src/contract/errors.ts";
import type { Pool } from "../../src/pool/pool.ts";
import type { MapProgress } from "../../src/pool/work/call-map.ts";
import { scripts } from "../../src/testing.ts";
import { collected, commands, numbers, source } from "./map-bench.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

describe("the results of a map", () => {
	test("of ten times as many items as the queue takes are there, in order, and none is refused", async () => {
		const { pool, events, close } = await virtualPool(
			{ commands },
			{ size: 4, queue: { limit: 1_000 } },
		);
		const items = numbers(10_000);
		expect(await collected(pool.map("echo", items))).toEqual(items);
		const settled = events.of("call.settled");
		expect(settled).toHaveLength(10_000);
		expect(settled.every(({ outcome }) => outcome === "succeeded")).toBe(true);
		await close();
	});

	test("come in the order of their items, or as they are there", async () => {
		const { pool, clock, close } = await virtualPool({ commands }, { size: 3 });
		const items = [30, 10, 20, 5];
		const inOrder = collected(pool.map("take", items));
		expect(await clock.advanceUntil(inOrder)).toEqual(items);
		const asTheyCome = collected(
			pool.map("take", items, { order: "completion" }),
		);
		expect(await clock.advanceUntil(asTheyCome)).toEqual([10, 5, 20, 30]);
		await close();
	});

	test("of nothing are nothing, and what is never read is never begun", async () => {
		const { pool, events, close } = await virtualPool({ commands });
		expect(await collected(pool.map("echo", []))).toEqual([]);
		const { seen, items } = source(numbers(3));
		const unread = pool.map("echo", items);
		await unread.return?.();
		expect(await collected(unread)).toEqual([]);
		expect(seen.taken).toBe(0);
		expect(events.of("call.accepted")).toEqual([]);
		await close();
	});

	test("may be undefined, and read by several consumers", async () => {
		const { pool, close } = await virtualPool({
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
		await close();
	});
});

describe("a map reports", () => {
	test("its progress after each item, and the number of all where that is known", async () => {
		const { pool, clock, close } = await virtualPool({ commands });
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
		await close();
	});

	test("each call the options that its caller gave for all", async () => {
		let crashes = 1;
		const { pool, clock, close } = await virtualPool({
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
		await close();
	});

	test("wrong options of its caller at once", async () => {
		const { pool, close } = await virtualPool({ commands });
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
		await close();
	});

	test("an error that the adapter throws for every call keeps its own message", async () => {
		const shared = new InputError({
			code: "INVALID_ARGUMENTS",
			ran: "no",
			message: "that will not do",
		});
		const { pool, close } = await virtualPool({
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
		await close();
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
