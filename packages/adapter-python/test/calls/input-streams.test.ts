import { ToolError } from "@snakepit/core";
import { expect, test } from "vitest";
import { sharedBench, startBench } from "../support/bench.ts";
import { call, failureOf, streamOf } from "../support/calls.ts";

const worker = sharedBench();

/** Items without end; tells how many were taken and whether it was closed. */
function countedSource() {
	const source = { taken: 0, closed: false };
	async function* items() {
		try {
			for (;;) yield source.taken++;
		} finally {
			source.closed = true;
		}
	}
	return { source, items: items() };
}

test("items of an iterable reach the tool in order, many times its credit", async () => {
	const { connection } = await worker();
	const items = Array.from({ length: 1_000 }, (_, i) => ({ i }));
	expect(await call(connection, "collect", {}, { input: items })).toEqual(
		items,
	);
	expect(await call(connection, "collect", {}, { input: [] })).toEqual([]);
});

test("a stream in and a stream out run at the pace of the consumer", async () => {
	const { connection } = await startBench({ streamCredit: 2 });
	const { source, items } = countedSource();
	const doubled = streamOf(connection, "doubled", {}, { input: items });
	expect((await doubled.next()).value).toBe(0);
	expect((await doubled.next()).value).toBe(2);
	await connection.ping?.(new AbortController().signal);
	// 256 small items are under way, at most, and those that the worker has read and not answered.
	expect(source.taken).toBeLessThan(300);
	await doubled.return?.();
	await expect.poll(() => source.closed).toBe(true);
});

test("a tool that reads no more closes the caller's iterable", async () => {
	const { connection } = await worker();
	const { source, items } = countedSource();
	expect(await call(connection, "first_input", {}, { input: items })).toBe(0);
	await expect.poll(() => source.closed).toBe(true);
});

test("an abort closes the caller's iterable", async () => {
	const { connection } = await worker();
	const { source, items } = countedSource();
	const abort = new AbortController();
	const failure = failureOf(
		call(
			connection,
			"ignore_input",
			{},
			{ input: items, signal: abort.signal },
		),
	);
	await expect.poll(() => source.taken).toBeGreaterThan(0);
	abort.abort();
	await failure;
	await expect.poll(() => source.closed).toBe(true);
});

test("an iterable that throws fails the tool's reading, and is the cause of its error", async () => {
	const { connection } = await worker();
	const reason = new Error("the disk is gone");
	function* broken() {
		yield 1;
		throw reason;
	}
	const error = await failureOf(
		call(connection, "collect", {}, { input: broken() }),
	);
	expect(error).toBeInstanceOf(ToolError);
	expect(String(error)).toContain("the disk is gone");
	expect(error).toMatchObject({ cause: reason });
});

test("an item that cannot cross ends the call with its path", async () => {
	const { connection } = await worker();
	const input = [1, { label: () => 1 }];
	expect(
		await failureOf(call(connection, "collect", {}, { input })),
	).toMatchObject({
		code: "VALUE_NOT_TRANSFERABLE",
		// The tool has the item before it.
		ran: "maybe",
		path: "$input[1].label",
	});
	expect(await call(connection, "add", { a: 1 })).toBe(2);
});

test("an item over the limit ends the call, and nothing else", async () => {
	const { connection } = await startBench({ maxMessageBytes: 1024 * 1024 });
	const input = [new Uint8Array(2 * 1024 * 1024)];
	expect(
		await failureOf(call(connection, "collect", {}, { input })),
	).toMatchObject({
		code: "MESSAGE_TOO_LARGE",
		ran: "maybe",
	});
	expect(await call(connection, "add", { a: 1 })).toBe(2);
});

test("an item of the wrong type is named by its path", async () => {
	const { connection } = await worker();
	const doubled = streamOf(connection, "doubled", {}, { input: [1, "two"] });
	await doubled.next();
	expect(await failureOf(doubled.next())).toMatchObject({
		code: "INVALID_ARGUMENTS",
		path: "$input[1]",
	});
});

test("a tool without input is not sent any", async () => {
	const { connection } = await worker();
	expect(
		await failureOf(call(connection, "add", { a: 1 }, { input: [1] })),
	).toMatchObject({ code: "WRONG_SHAPE", ran: "no" });
});
