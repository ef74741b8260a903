import { WorkerLostError } from "@snakepit/core";
import { expect, test } from "vitest";
import { Handle } from "../../src/index.ts";
import { failureOf } from "../support/calls.ts";
import { type Counter, handlePool, refused } from "./handle-pool.ts";

const here = handlePool();
const { strict } = here;

test("a released handle is of no use, and its object is gone", async () => {
	using session = strict();
	const counter = await session.execute("counter", { start: 1234 });
	expect(await session.execute("alive")).toContain(1234);
	await counter.release();
	await counter.release();
	expect(await session.execute("alive")).not.toContain(1234);
	expect(await failureOf(counter.call("add"))).toEqual(
		refused("HANDLE_INVALID", /was released/),
	);
	expect(await failureOf(session.execute("total", { of: [counter] }))).toEqual(
		refused("HANDLE_INVALID", /"total".*it was released, or/),
	);
	{
		await using other = await session.execute("counter", { start: 99 });
		expect(await other.get("count")).toBe(99);
	}
	expect(await session.execute("alive")).not.toContain(99);
});

test("a handle of another session and a forged one are refused with ran: no", async () => {
	using session = strict();
	using other = strict();
	const counter = await session.execute("counter");
	const error = await failureOf(other.execute("total", { of: [counter] }));
	expect(error).toEqual(refused("HANDLE_INVALID", /from another session/));
	expect(error).toMatchObject({ ran: "no" });
	const forged = new Handle<Counter>(new Uint8Array(16), "x", undefined);
	expect(await failureOf(session.execute("total", { of: [forged] }))).toEqual(
		refused("HANDLE_INVALID", /holds no such object/),
	);
	expect(
		await failureOf(here.pool.execute("total", { of: [counter] })),
	).toEqual(refused("HANDLE_INVALID", /belongs to no session/));
});

test("an object that was created for a caller that left is released", async () => {
	using session = strict();
	const leave = new AbortController();
	const options = { signal: leave.signal, onProgress: () => leave.abort() };
	const call = session.execute("counter_nevertheless", { start: 77 }, options);
	expect(await failureOf(call)).toMatchObject({ code: "CALL_ABORTED" });
	const made = Promise.withResolvers<void>();
	const chunks = session.stream(
		"counters_nevertheless",
		{ start: 80 },
		{ onProgress: () => made.resolve() },
	);
	const { value: first } = await chunks.next();
	await made.promise;
	await chunks.return?.();
	let alive: number[];
	do alive = await session.execute("alive");
	while (alive.some((count) => count === 77 || count > 80));
	expect(alive).toContain(80);
	expect(await session.execute("made")).toEqual(
		expect.arrayContaining([77, 80, 81]),
	);
	expect(await (first as Handle<Counter>).get("count")).toBe(80);
});

test("a session holds no more objects than the limit", async () => {
	using session = strict();
	const made: Handle[] = [];
	for (let i = 0; i < 8; i++) made.push(await session.execute("counter"));
	expect(await failureOf(session.execute("counter"))).toEqual(
		refused("HANDLE_REFUSED", /holds 8 objects \(handles.limit\)/),
	);
	await made[0]?.release();
	await session.execute("counter");
});

test("the end of a session ends its objects, in the thread of the tools", async () => {
	const session = strict();
	const counter = await session.execute("counter", { start: 4321 });
	const { incarnation } = session;
	session.close();
	expect(await failureOf(counter.call("add"))).toMatchObject({
		code: "SESSION_CLOSED",
	});
	await counter.release();
	// The same worker, after it has received the end of the session.
	for (let other = strict(); ; other = strict()) {
		using asked = other;
		const alive = await asked.execute("alive");
		if (asked.incarnation !== incarnation) continue;
		expect(alive).not.toContain(4321);
		expect(await asked.execute("ended_in_main")).toBe(true);
		break;
	}
});

test("the death of a worker ends its objects with the session's own error", async () => {
	using session = strict();
	const counter = await session.execute("counter");
	const worker = here.pool
		.workers()
		.find(({ incarnation }) => incarnation === session.incarnation);
	process.kill(worker?.pid as number, "SIGKILL");
	const error = await failureOf(counter.call("add"));
	expect(error).toBeInstanceOf(WorkerLostError);
	expect(await failureOf(counter.get("count"))).toMatchObject({
		code: "SESSION_LOST",
		ran: "no",
	});
	await counter.release();
});
