import { Readable } from "node:stream";
import { expect, expectTypeOf, test } from "vitest";
import type { CallStream, Pool } from "../../src/index.ts";
import { type ScriptedCall, scripts } from "../../src/testing.ts";
import { outcome, virtualPool, virtualPoolOver } from "./virtual-pool.ts";

const commands = {
	count: scripts.count,
	echo: scripts.echo,
	relay: scripts.relay,
	read: async ({ input = [] }: Parameters<typeof scripts.count>[0]) => {
		for await (const _ of input);
	},
	crashAfter,
};

async function* crashAfter(
	call: Parameters<typeof scripts.count>[0],
): AsyncGenerator<number> {
	yield 1;
	await scripts.crash(call);
}

test("a stream begins when it is first read, not before", async () => {
	const { pool, events } = await virtualPool({ commands });
	const stream = pool.stream("count", 3);
	expect(events.of("call.accepted")).toHaveLength(0);
	expect(await stream.next()).toEqual({ done: false, value: 0 });
	await stream.return?.();
});

test("a stream that was left has ended for every later reader", async () => {
	const { pool, events } = await virtualPool({ commands });
	const stream = pool.stream("count", 1_000);
	await stream.next();
	await stream.return?.();
	expect(await stream.next()).toEqual({ done: true, value: undefined });
	const unread = pool.stream("count", 1_000);
	await unread.return?.();
	expect(await unread.next()).toEqual({ done: true, value: undefined });
	expect(events.of("call.accepted")).toHaveLength(1);
});

test("a stream that is refused throws once, and has ended then", async () => {
	const { pool, close } = await virtualPool({ commands });
	const stream = pool.stream("count", 3);
	await close();
	await expect(stream.next()).rejects.toMatchObject({ code: "POOL_CLOSED" });
	expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test("leaving the loop frees the worker", async () => {
	const { pool, clock, adapter } = await virtualPool({ commands });
	for await (const item of pool.stream("count", 1_000)) if (item === 3) break;
	const next = pool.execute("echo", "free");
	await clock.advance(10);
	expect(await next).toBe("free");
	expect(adapter.workers).toHaveLength(1);
});

test("a consumer that asks for nothing leaves the producer where it is", async () => {
	let produced = 0;
	const { pool, clock } = await virtualPool({
		commands: {
			count: async function* () {
				for (;;) yield ++produced;
			},
		},
	});
	const stream = pool.stream("count");
	await stream.next();
	await clock.advance(60_000);
	expect(produced).toBeLessThan(200);
	await stream.return?.();
});

test("a stream whose worker dies throws once, after the items it had, and is never made again", async () => {
	const { pool, clock, events } = await virtualPool({ commands });
	const stream = pool.stream("crashAfter", undefined, {
		retry: { attempts: 4 },
	});
	expect(await stream.next()).toEqual({ done: false, value: 1 });
	const failed = outcome(stream.next());
	await clock.advance(1_000);
	expect(await failed).toMatchObject({ code: "WORKER_EXITED" });
	expect(await stream.next()).toEqual({ done: true, value: undefined });
	expect(events.of("call.retried")).toHaveLength(0);
});

test("an abort ends a stream at the consumer's next step", async () => {
	const { pool, clock } = await virtualPool({ commands });
	const controller = new AbortController();
	const stream = pool.stream("count", 1_000, { signal: controller.signal });
	await stream.next();
	controller.abort();
	expect(await outcome(stream.next())).toMatchObject({ code: "CALL_ABORTED" });
	const next = pool.execute("echo", 1);
	await clock.advance(10);
	expect(await next).toBe(1);
});

test("an input stream reaches the command", async () => {
	const { pool } = await virtualPool({ commands });
	expect(
		await Array.fromAsync(
			pool.stream("relay", undefined, { input: ["a", "b"] }),
		),
	).toEqual(["a", "b"]);
});

test("an input stream that fails while its call waits fails the call, and not the host", async () => {
	const { pool } = await virtualPool({ commands });
	const first = new Readable({ read() {} });
	const before = pool.execute("read", undefined, { input: first });
	const input = new Readable({ read() {} });
	const isClosed = new Promise((resolve) => input.on("close", resolve));
	const failure = new Error("the source is gone");
	const relayed = outcome(pool.execute("read", undefined, { input }));
	input.destroy(failure);
	await isClosed;
	first.push(null);
	await before;
	expect(await relayed).toMatchObject({ error: { cause: failure } });
});

test("an adapter without streams refuses one with a clear error", async () => {
	const { pool } = await virtualPool({ commands, streams: false });
	expect(await outcome(pool.stream("count", 1).next())).toMatchObject({
		code: "NOT_OFFERED",
		ran: "no",
	});
});

test("a long stream leaves no listener behind for each of its items", async () => {
	let listeners = 0;
	let most = 0;
	const { pool } = await virtualPool({
		commands: {
			count: async function* (call) {
				const { signal } = call;
				const add = signal.addEventListener.bind(signal);
				signal.addEventListener = (...args: Parameters<typeof add>) => {
					most = Math.max(most, ++listeners);
					add(...args);
				};
				for (let item = 0; item < 200; item++) yield item;
			},
		},
	});
	expect(await Array.fromAsync(pool.stream("count"))).toHaveLength(200);
	expect(most).toBeLessThan(10);
});

test("what a lost worker still sends after its call was made again is not of the stream", async () => {
	const first = Promise.withResolvers<void>();
	const second = Promise.withResolvers<void>();
	const items = [
		{ said: ["late"], when: first.promise },
		{ said: ["a", "b"], when: second.promise },
	];
	const { adapter, pool, clock } = await virtualPoolOver(
		() => {
			const next = items.shift();
			return {
				stream: async function* () {
					await next?.when;
					yield* next?.said ?? [];
				},
			};
		},
		{ commands },
	);
	const read = Array.fromAsync(
		pool.stream("count", 2, { retry: { attempts: 2 } }),
	);
	await clock.advance(0);
	adapter.workers[0]?.crash();
	await clock.advance(1_000);
	first.resolve();
	await clock.advance(0);
	second.resolve();
	await clock.advance(1_000);
	expect(await read).toEqual(["a", "b"]);
});

const resultCommands = {
	count: scripts.count,
	silent: scripts.silent,
	train,
	fail: async function* () {
		yield 1;
		throw new RangeError("on purpose");
	},
	crashOnce,
};

async function* train({ args }: ScriptedCall): AsyncGenerator<number, string> {
	for (let epoch = 1; epoch <= Number(args); epoch++) yield epoch;
	return `trained ${args}`;
}

/** What a promise rejects with. */
function errorOf(promise: Promise<unknown>): Promise<unknown> {
	return promise.then(
		(value) => Promise.reject(new Error(`resolved with ${value}`)),
		(error: unknown) => error,
	);
}

/** Takes its worker down, unless it is the second one. */
async function* crashOnce(
	call: ScriptedCall,
): AsyncGenerator<number, string | undefined> {
	if (call.worker.slot.incarnation.endsWith("1")) {
		await scripts.crash(call);
		return "of the worker that is gone";
	}
	yield 1;
	return "of the second attempt";
}

test("what a command returns after its last item is the result of its stream", async () => {
	const { pool } = await virtualPool({ commands: resultCommands });
	const stream = pool.stream("train", 3);
	expect(await Array.fromAsync(stream)).toEqual([1, 2, 3]);
	expect(await stream.result).toBe("trained 3");
});

test("the last step carries the result too, once", async () => {
	const { pool } = await virtualPool({ commands: resultCommands });
	const stream = pool.stream("train", 1);
	expect(
		await Promise.all([stream.next(), stream.next(), stream.next()]),
	).toEqual([
		{ done: false, value: 1 },
		{ done: true, value: "trained 1" },
		{ done: true, value: undefined },
	]);
	expect(await stream.next()).toEqual({ done: true, value: undefined });
	expect(await stream.result).toBe("trained 1");
});

test("a result that is awaited before the first item arrives when the stream is read", async () => {
	const { pool } = await virtualPool({ commands: resultCommands });
	const session = pool.session();
	const stream = session.stream("train", 2);
	const result = stream.result;
	expect(stream.result).toBe(result);
	for await (const _ of stream);
	expect(await result).toBe("trained 2");
});

test("a stream without a result has undefined", async () => {
	const { pool } = await virtualPool({ commands: resultCommands });
	const stream = pool.stream("count", 2);
	for await (const _ of stream);
	expect(await stream.result).toBeUndefined();
});

test("the result rejects with the error that the iteration throws", async () => {
	const { pool } = await virtualPool({ commands: resultCommands });
	const stream = pool.stream("fail");
	await stream.next();
	const error = await errorOf(stream.next());
	expect(error).toMatchObject({ code: "TOOL_FAILED" });
	expect(await errorOf(stream.result)).toBe(error);
});

test("a stream that is left before its end has no result", async () => {
	const { pool } = await virtualPool({ commands: resultCommands });
	const left = pool.stream("train", 5);
	for await (const epoch of left) if (epoch === 2) break;
	expect(await errorOf(left.result)).toMatchObject({
		name: "AbortError",
		code: "CALL_ABORTED",
		ran: "maybe",
	});
	const unread = pool.stream("train", 5);
	await unread.return?.();
	expect(await errorOf(unread.result)).toMatchObject({
		code: "CALL_ABORTED",
		ran: "no",
	});
});

test("a stream that is refused or aborted has the reason as its result", async () => {
	const { pool, clock, close } = await virtualPool({
		commands: resultCommands,
	});
	const controller = new AbortController();
	const aborted = pool.stream("silent", undefined, {
		signal: controller.signal,
	});
	const step = errorOf(aborted.next());
	await clock.advance(0);
	controller.abort();
	expect(await step).toMatchObject({ code: "CALL_ABORTED" });
	expect(await errorOf(aborted.result)).toBe(await step);
	const late = pool.stream("train", 1);
	await close();
	expect(await errorOf(late.next())).toMatchObject({ code: "POOL_CLOSED" });
	expect(await errorOf(late.result)).toMatchObject({ code: "POOL_CLOSED" });
});

test("the result is that of the attempt that came to its end", async () => {
	const { pool, clock } = await virtualPool({ commands: resultCommands });
	const stream = pool.stream("crashOnce", undefined, {
		retry: { attempts: 2 },
	});
	const items = Array.fromAsync(stream);
	await clock.advance(10_000);
	expect(await items).toEqual([1]);
	expect(await stream.result).toBe("of the second attempt");
});

test("a rejected result that is never read does not end the program", async () => {
	const unhandled: unknown[] = [];
	const note = (reason: unknown) => void unhandled.push(reason);
	process.on("unhandledRejection", note);
	try {
		const { pool, close } = await virtualPool({ commands: resultCommands });
		const failed = pool.stream("fail");
		void failed.result;
		await failed.next();
		await errorOf(failed.next());
		const left = pool.stream("train", 5);
		void left.result;
		await left.next();
		await left.return?.();
		await close();
		// Node reports them when a turn of the event loop is over.
		await new Promise(setImmediate);
		expect(unhandled).toEqual([]);
	} finally {
		process.off("unhandledRejection", note);
	}
});

test("a pool whose streamCommands are described knows what their streams return", () => {
	type Tools = {
		train(args: { epochs: number }): AsyncIterable<number, string>;
		count(args: { below: number }): AsyncIterable<number>;
	};
	const typed = (pool: Pool<Tools>) => ({
		train: pool.stream("train", { epochs: 3 }),
		count: pool.session().stream("count", { below: 3 }),
	});
	type Streams = ReturnType<typeof typed>;
	expectTypeOf<Streams["train"]>().toEqualTypeOf<CallStream<number, string>>();
	expectTypeOf<Streams["count"]>().toEqualTypeOf<CallStream<number, unknown>>();
	const untyped = (pool: Pool) => pool.stream("train").result;
	expectTypeOf<ReturnType<typeof untyped>>().toEqualTypeOf<
		// biome-ignore lint/suspicious/noExplicitAny: a result that is not described.
		Promise<any>
	>();
});
