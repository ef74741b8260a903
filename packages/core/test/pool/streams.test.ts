import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { scripts } from "../../src/testing.ts";
import {
	closedVirtualPool,
	outcome,
	overConnections,
	virtualPool,
} from "./virtual-pool.ts";

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

test("a stream yields in order and ends", async () => {
	const { pool, close, events } = await virtualPool({ commands });
	expect(await Array.fromAsync(pool.stream("count", 5))).toEqual([
		0, 1, 2, 3, 4,
	]);
	await close();
	events.assertPaired();
});

test("a stream begins when it is first read, not before", async () => {
	const { pool, close, events } = await virtualPool({ commands });
	const stream = pool.stream("count", 3);
	expect(events.of("call.accepted")).toHaveLength(0);
	expect(await stream.next()).toEqual({ done: false, value: 0 });
	await stream.return?.();
	await close();
	events.assertPaired();
});

test("a stream that was left has ended for every later reader", async () => {
	const { pool, close, events } = await virtualPool({ commands });
	const stream = pool.stream("count", 1_000);
	await stream.next();
	await stream.return?.();
	expect(await stream.next()).toEqual({ done: true, value: undefined });
	const unread = pool.stream("count", 1_000);
	await unread.return?.();
	expect(await unread.next()).toEqual({ done: true, value: undefined });
	expect(events.of("call.accepted")).toHaveLength(1);
	await close();
});

test("a stream that is refused throws once, and has ended then", async () => {
	const { pool, close } = await virtualPool({ commands });
	const stream = pool.stream("count", 3);
	await close();
	await expect(stream.next()).rejects.toMatchObject({ code: "POOL_CLOSED" });
	expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test("leaving the loop frees the worker", async () => {
	const { pool, clock, close, adapter } = await virtualPool({ commands });
	for await (const item of pool.stream("count", 1_000)) if (item === 3) break;
	const next = pool.execute("echo", "free");
	await clock.advance(10);
	expect(await next).toBe("free");
	expect(adapter.workers).toHaveLength(1);
	await close();
});

test("a consumer that asks for nothing leaves the producer where it is", async () => {
	let produced = 0;
	const { pool, clock, close } = await virtualPool({
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
	await close();
});

test("several items may be asked for at once", async () => {
	const { pool, close } = await virtualPool({ commands });
	const stream = pool.stream("count", 2);
	expect(
		await Promise.all([stream.next(), stream.next(), stream.next()]),
	).toEqual([
		{ done: false, value: 0 },
		{ done: false, value: 1 },
		{ done: true, value: undefined },
	]);
	await close();
});

test("a stream whose worker dies throws once, after the items it had, and is never made again", async () => {
	const { pool, clock, close, events } = await virtualPool({ commands });
	const stream = pool.stream("crashAfter", undefined, {
		retry: { attempts: 4 },
	});
	expect(await stream.next()).toEqual({ done: false, value: 1 });
	const failed = outcome(stream.next());
	await clock.advance(1_000);
	expect(await failed).toMatchObject({ code: "WORKER_EXITED" });
	expect(await stream.next()).toEqual({ done: true, value: undefined });
	expect(events.of("call.retried")).toHaveLength(0);
	await close();
});

test("an abort ends a stream at the consumer's next step", async () => {
	const { pool, clock, close } = await virtualPool({ commands });
	const controller = new AbortController();
	const stream = pool.stream("count", 1_000, { signal: controller.signal });
	await stream.next();
	controller.abort();
	expect(await outcome(stream.next())).toMatchObject({ code: "CALL_ABORTED" });
	const next = pool.execute("echo", 1);
	await clock.advance(10);
	expect(await next).toBe(1);
	await close();
});

test("an input stream reaches the command", async () => {
	const { pool, close } = await virtualPool({ commands });
	expect(
		await Array.fromAsync(
			pool.stream("relay", undefined, { input: ["a", "b"] }),
		),
	).toEqual(["a", "b"]);
	await close();
});

test("an input stream that fails while its call waits fails the call, and not the host", async () => {
	const { pool, close } = await virtualPool({ commands });
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
	await close();
});

test("an adapter without streams refuses one with a clear error", async () => {
	const { pool, close } = await virtualPool({ commands, streams: false });
	expect(await outcome(pool.stream("count", 1).next())).toMatchObject({
		code: "NOT_OFFERED",
		ran: "no",
	});
	await close();
});

test("a long stream leaves no listener behind for each of its items", async () => {
	let listeners = 0;
	let most = 0;
	const { pool, close } = await virtualPool({
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
	await close();
});

test("what a lost worker still sends after its call was made again is not of the stream", async () => {
	const first = Promise.withResolvers<void>();
	const second = Promise.withResolvers<void>();
	const items = [
		{ said: ["late"], when: first.promise },
		{ said: ["a", "b"], when: second.promise },
	];
	const { life, adapter, pool, clock, close } = closedVirtualPool({ commands });
	overConnections(adapter, () => {
		const next = items.shift();
		return {
			stream: async function* () {
				await next?.when;
				yield* next?.said ?? [];
			},
		};
	});
	const opened = life.open();
	await clock.advance(1_000);
	await opened;
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
	await close();
});
