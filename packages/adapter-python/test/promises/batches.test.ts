import { type SnakepitError, ToolError, WorkerLostError } from "@snakepit/core";
import { describe, expect, test } from "vitest";
import { testPool } from "../../../../scripts/test-pool.ts";
import { Batches, batchesAdapter, KINDS, MAX } from "../support/batches.ts";

/** The error of a call. */
async function errorOf(call: Promise<unknown>): Promise<SnakepitError> {
	const [settled] = await Promise.allSettled([call]);
	if (settled.status === "fulfilled")
		throw new Error(`it answered ${settled.value}`);
	return settled.reason;
}

describe.each(KINDS)("%s", (tool) => {
	test("calls that come during a batch run together, and each gets its own answer or error", async () => {
		const batches = await Batches.open(tool);
		const first = batches.call("wait");
		await batches.began("wait");
		const answers = ["a", "error", "b"].map((item) => batches.call(item));
		await batches.release();
		expect(await first).toBe("wait!");
		expect(await answers[0]).toBe("a!");
		expect(await answers[2]).toBe("b!");
		const error = await errorOf(answers[1] as Promise<unknown>);
		expect(error).toBeInstanceOf(ToolError);
		expect(error).toMatchObject({
			remote: { type: "ValueError", message: "error" },
		});
		expect(await batches.begunUpTo("b")).toEqual([
			["wait"],
			["a", "error", "b"],
		]);
	});

	test("a list of another length is the error of each caller", async () => {
		const batches = await Batches.open(tool);
		const first = batches.call("wait");
		await batches.began("wait");
		const calls = ["a", "short"].map((item) => batches.call(item));
		await batches.release();
		await first;
		for (const call of calls)
			expect(await errorOf(call)).toMatchObject({
				code: "TOOL_FAILED",
				remote: {
					message: expect.stringContaining("2 calls returned 1 answers"),
				},
			});
	});

	test("the more urgent of those that wait in the pool are the next", async () => {
		const batches = await Batches.open(tool, {
			callsPerWorker: MAX,
		});
		const calls = ["wait", "1", "2", "3"].map((item) => batches.call(item));
		await batches.began("wait");
		for (const item of ["low1", "low2", "low3"]) calls.push(batches.call(item));
		for (const item of ["high1", "high2"])
			calls.push(batches.call(item, { priority: 1 }));
		await batches.release();
		await Promise.all(calls);
		const begun = await batches.begunUpTo("low3");
		expect(begun.flat().slice(4)).toEqual([
			...["high1", "high2", "low1", "low2", "low3"],
		]);
	});

	test("a worker that dies fails each call of its batch, and retries those that may be", async () => {
		const batches = await Batches.open(tool, {
			start: { backoffMs: 1 },
		});
		const first = batches.call("wait1");
		await batches.began("wait1");
		const lost = batches.call("wait2");
		const retried = batches.call("b", { retry: { attempts: 2 } });
		const deadly = batches.call("die");
		await batches.release();
		// An answer that is on its way would be lost with the worker.
		await first;
		await batches.release();
		for (const call of [lost, deadly]) {
			const error = await errorOf(call);
			expect(error).toBeInstanceOf(WorkerLostError);
			expect(error.ran).toBe("maybe");
		}
		expect(await retried).toBe("b!");
		await batches.until(
			(event) => event.type === "worker.output" && event.line === "began b",
		);
		expect((await batches.begunUpTo("b")).slice(1)).toEqual([
			["wait2", "b", "die"],
			["b"],
		]);
	});
});

test.each([
	"killed",
	"replaced, as a batch that everybody left does not end",
] as const)(
	"calls that wait for their batch when their worker is %s run elsewhere",
	async (end) => {
		const batches = await Batches.open("together", {
			start: { backoffMs: 1 },
			calls: { cancelGraceMs: end === "killed" ? 60_000 : 50 },
		});
		const leave = new AbortController();
		const first = batches.call("wait", { signal: leave.signal });
		await batches.began("wait");
		const waiting = ["a", "b"].map((item) => batches.call(item));
		// After it the worker has read them.
		await batches.pool.execute("other", [""]);
		if (end === "killed")
			process.kill(batches.pool.workers()[0]?.pid as number, "SIGKILL");
		else leave.abort();
		const error = await errorOf(first);
		expect(error.ran).toBe("maybe");
		expect(error.code).toBe(
			end === "killed" ? "WORKER_EXITED" : "CALL_ABORTED",
		);
		expect(await Promise.all(waiting)).toEqual(["a!", "b!"]);
		const begun = (await batches.begunUpTo("b")).flat();
		expect(begun.toSorted()).toEqual(["a", "b", "wait"]);
	},
);

test("a call whose deadline ends before its batch is taken out of the worker and of the pool", async () => {
	const batches = await Batches.open("together", {
		callsPerWorker: MAX,
	});
	const calls = ["wait", "1", "2"].map((item) => batches.call(item));
	await batches.began("wait");
	const inWorker = batches.call("late1", { timeoutMs: 100 });
	// Ends before the other leaves its place to it.
	const inPool = batches.call("late2", { timeoutMs: 50 });
	expect(await errorOf(inWorker)).toMatchObject({ code: "CALL_TIMEOUT" });
	expect(await errorOf(inPool)).toMatchObject({
		code: "CALL_TIMEOUT",
		ran: "no",
	});
	await batches.release();
	await Promise.all(calls);
	expect(await batches.begunUpTo("2")).toEqual([["wait"], ["1", "2"]]);
});

test("a caller that leaves a batch frees its place at once, and the worker is kept", async () => {
	const batches = await Batches.open("together", {
		calls: { cancelGraceMs: 60_000 },
	});
	const first = batches.call("wait1");
	await batches.began("wait1");
	const stop = new AbortController();
	const leaves = batches.call("leaves", { signal: stop.signal });
	const stays = batches.call("wait2");
	await batches.release();
	await batches.began("wait2");
	expect(await first).toBe("wait1!");
	stop.abort();
	expect(await errorOf(leaves)).toMatchObject({ code: "CALL_ABORTED" });
	const aborted = batches.events.find(
		(event) => event.type === "call.settled" && event.outcome === "aborted",
	);
	if (aborted?.type !== "call.settled") throw new Error("no abort");
	// Its grace is over with its attempt. The function still waits.
	await batches.until(
		(event) =>
			event.type === "call.released" && event.callId === aborted.callId,
	);
	await batches.release();
	expect(await stays).toBe("wait2!");
	expect((await batches.begunUpTo("wait2"))[1]).toEqual(["leaves", "wait2"]);
});

test("a batch that hangs costs its worker when the last caller has left", async () => {
	const batches = await Batches.open("together", {
		calls: { cancelGraceMs: 100 },
		start: { backoffMs: 1 },
	});
	const stop = new AbortController();
	const { signal } = stop;
	const first = batches.call("wait1");
	await batches.began("wait1");
	const calls = ["wait2", "a"].map((item) => batches.call(item, { signal }));
	await batches.release();
	await first;
	await batches.began("wait2");
	stop.abort();
	for (const call of calls)
		expect(await errorOf(call)).toMatchObject({ code: "CALL_ABORTED" });
	await batches.until(
		(event) => event.type === "worker.exited" && event.reason === "stuck",
	);
	expect(await batches.call("again")).toBe("again!");
});

test("another tool is not passed by calls that came after it", async () => {
	const batches = await Batches.open("together");
	const others: Promise<unknown>[] = [];
	let made = 0;
	const isOver = () => others.length === 3;
	await Promise.all(
		Array.from({ length: 4 * MAX }, async () => {
			while (!isOver()) {
				await batches.call(`${++made}`);
				if (made > 50 * (others.length + 1))
					others.push(batches.pool.execute("other", ["x"]));
			}
		}),
	);
	expect(await Promise.all(others)).toContain("x");
	const order = (type: "call.accepted" | "call.dispatched") =>
		batches.events.flatMap((event) =>
			event.type === type ? [event.callId] : [],
		);
	expect(order("call.dispatched")).toEqual(order("call.accepted"));
});

test("large arguments of a batch cross as those of single calls", async () => {
	const batches = await Batches.open("sizes");
	const array = new Uint8Array(3_000_000);
	for (let round = 0; round < 3; round++) {
		const answers = Array.from({ length: 2 * MAX }, () =>
			batches.pool.execute("sizes", [array]),
		);
		expect(new Set(await Promise.all(answers))).toEqual(new Set([3_000_000]));
	}
});

test("the description of a tool says how many calls it takes at once", async () => {
	const adapter = batchesAdapter("/dev/null");
	await testPool({ adapter, callsPerWorker: MAX });
	const described = await adapter.describe(AbortSignal.timeout(60_000));
	expect(described).toContainEqual(
		expect.objectContaining({
			name: "together",
			batchMax: MAX,
			argumentsSchema: expect.objectContaining({
				properties: { items: { type: "string" } },
			}),
		}),
	);
	expect(described.find(({ name }) => name === "other")?.batchMax).toBe(
		undefined,
	);
});
