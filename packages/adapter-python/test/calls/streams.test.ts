import { CallAbortedError, ToolError } from "@snakepit/core";
import { ConnectionBrokenError } from "@snakepit/core/adapter";
import { expect, test } from "vitest";
import { sharedBench, startBench } from "../support/bench.ts";
import { call, failureOf, streamOf } from "../support/calls.ts";

const worker = sharedBench();

async function all(items: AsyncIterator<unknown>): Promise<unknown[]> {
	const read: unknown[] = [];
	for (let step = await items.next(); !step.done; step = await items.next())
		read.push(step.value);
	return read;
}

test.each(["count", "async_count"])(
	"the items of %s arrive in order, many times the window",
	async (command) => {
		const { connection } = await startBench({ streamCredit: 4 });
		const items = await all(streamOf(connection, command, { below: 500 }));
		expect(items).toEqual(Array.from({ length: 500 }, (_, i) => i));
		expect(await all(streamOf(connection, command, { below: 0 }))).toEqual([]);
	},
);

test("items that are asked for at once arrive in order", async () => {
	const { connection } = await startBench({ streamCredit: 1 });
	const items = streamOf(connection, "count", { below: 3 });
	const steps = await Promise.all([
		items.next(),
		items.next(),
		items.next(),
		items.next(),
	]);
	expect(steps.map(({ value }) => value)).toEqual([0, 1, 2, null]);
	expect(steps.at(-1)?.done).toBe(true);
});

test("what a generator returns is the value of the last step, once", async () => {
	const { connection } = await worker();
	const items = streamOf(connection, "count_and_total", { below: 2 });
	expect(await Promise.all([1, 2, 3, 4].map(() => items.next()))).toEqual([
		{ done: false, value: 0 },
		{ done: false, value: 1 },
		{ done: true, value: { total: 1 } },
		{ done: true, value: undefined },
	]);
});

test.each(["count", "async_count"])(
	"%s returns nothing, which is null",
	async (command) => {
		const { connection } = await worker();
		const items = streamOf(connection, command, { below: 0 });
		expect(await items.next()).toEqual({ done: true, value: null });
	},
);

test("what a generator returns and cannot cross is the failure of its stream, after its items", async () => {
	const { connection } = await worker();
	const items = streamOf(connection, "return_what_cannot_cross");
	expect(await items.next()).toEqual({ done: false, value: 1 });
	expect(await failureOf(items.next())).toMatchObject({
		code: "VALUE_NOT_TRANSFERABLE",
		ran: "maybe",
	});
	expect(await call(connection, "add", { a: 1 })).toBe(2);
});

test("a slow consumer stops the tool at the window", async () => {
	const { connection } = await startBench({ streamCredit: 4 });
	const items = streamOf(connection, "endless");
	expect(await items.next()).toEqual({ done: false, value: 1 });
	// Another round trip: the tool had its time to run ahead.
	await connection.ping?.(new AbortController().signal);
	await items.return?.();
	expect(await call(connection, "how_many_produced")).toBeLessThanOrEqual(8);
});

test("leaving a stream closes the tool's generator, and the worker is free", async () => {
	const { connection } = await worker();
	const items = streamOf(connection, "silent");
	const awaited = items.next();
	expect(await items.return?.()).toEqual({ done: true, value: undefined });
	expect(await awaited).toEqual({ done: true, value: undefined });
	expect(await call(connection, "add", { a: 1 })).toBe(2);
});

test("a stream that is not read never begins", async () => {
	const { connection } = await worker();
	const items = streamOf(connection, "endless");
	await items.return?.();
	expect(await items.next()).toEqual({ done: true, value: undefined });
	expect(await call(connection, "how_many_produced")).toBe(0);
});

test("what the tool yielded arrives before what it raises, and that once", async () => {
	const { connection } = await worker();
	const items = streamOf(connection, "fail_after", { chunks: 2 });
	expect(await items.next()).toMatchObject({ value: 0 });
	expect(await items.next()).toMatchObject({ value: 1 });
	expect(await failureOf(items.next())).toBeInstanceOf(ToolError);
	expect(await items.next()).toEqual({ done: true, value: undefined });
});

test("an aborted stream ends with the abort, whatever was in progress", async () => {
	const { connection } = await worker();
	const abort = new AbortController();
	const items = streamOf(
		connection,
		"count",
		// More than the window: it cannot have ended.
		{ below: 1000 },
		{ signal: abort.signal },
	);
	await items.next();
	abort.abort();
	expect(await failureOf(all(items))).toBeInstanceOf(CallAbortedError);
});

test("the death of the worker ends its streams", async () => {
	const { connection, kill } = await startBench();
	const items = streamOf(connection, "silent");
	const failure = failureOf(items.next());
	await connection.ping?.(new AbortController().signal);
	kill();
	expect(await failure).toBeInstanceOf(ConnectionBrokenError);
});

test("a tool with one result is not streamed, and one that streams not called", async () => {
	const { connection } = await worker();
	expect(
		await failureOf(streamOf(connection, "add", { a: 1 }).next()),
	).toMatchObject({ code: "WRONG_SHAPE", ran: "no" });
	expect(
		await failureOf(call(connection, "count", { below: 1 })),
	).toMatchObject({ code: "WRONG_SHAPE", ran: "no" });
});
