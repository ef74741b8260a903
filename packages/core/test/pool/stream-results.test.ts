import { expect, expectTypeOf, test } from "vitest";
import type { CallStream, Pool } from "../../src/index.ts";
import { type ScriptedCall, scripts } from "../../src/testing.ts";
import { virtualPool } from "./virtual-pool.ts";

const commands = {
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
	const { pool, close, events } = await virtualPool({ commands });
	const stream = pool.stream("train", 3);
	expect(await Array.fromAsync(stream)).toEqual([1, 2, 3]);
	expect(await stream.result).toBe("trained 3");
	await close();
	events.assertPaired();
});

test("the last step carries the result too, once", async () => {
	const { pool, close } = await virtualPool({ commands });
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
	await close();
});

test("a result that is awaited before the first item arrives when the stream is read", async () => {
	const { pool, close } = await virtualPool({ commands });
	const session = pool.session();
	const stream = session.stream("train", 2);
	const result = stream.result;
	expect(stream.result).toBe(result);
	for await (const _ of stream);
	expect(await result).toBe("trained 2");
	await close();
});

test("a stream without a result has undefined", async () => {
	const { pool, close } = await virtualPool({ commands });
	const stream = pool.stream("count", 2);
	for await (const _ of stream);
	expect(await stream.result).toBeUndefined();
	await close();
});

test("the result rejects with the error that the iteration throws", async () => {
	const { pool, close } = await virtualPool({ commands });
	const stream = pool.stream("fail");
	await stream.next();
	const error = await errorOf(stream.next());
	expect(error).toMatchObject({ code: "TOOL_FAILED" });
	expect(await errorOf(stream.result)).toBe(error);
	await close();
});

test("a stream that is left before its end has no result", async () => {
	const { pool, close } = await virtualPool({ commands });
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
	await close();
});

test("a stream that is refused or aborted has the reason as its result", async () => {
	const { pool, clock, close } = await virtualPool({ commands });
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
	const { pool, clock, close } = await virtualPool({ commands });
	const stream = pool.stream("crashOnce", undefined, {
		retry: { attempts: 2 },
	});
	const items = Array.fromAsync(stream);
	await clock.advance(10_000);
	expect(await items).toEqual([1]);
	expect(await stream.result).toBe("of the second attempt");
	await close();
});

test("a rejected result that is never read does not end the program", async () => {
	const unhandled: unknown[] = [];
	const note = (reason: unknown) => void unhandled.push(reason);
	process.on("unhandledRejection", note);
	try {
		const { pool, close } = await virtualPool({ commands });
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

test("a pool whose commands are described knows what their streams return", () => {
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
