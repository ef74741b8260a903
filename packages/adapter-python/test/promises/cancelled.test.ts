import type { Pool } from "@snakepit/core";
import type { EventRecorder } from "@snakepit/core/testing";
import { expect, test } from "vitest";
import { testPool } from "../../../../scripts/test-pool.ts";
import { python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";

const adapter = python({
	tools: new URL("./waits.py", import.meta.url),
	python: PYTHON,
});

interface Opened {
	readonly pool: Pool;
	readonly events: EventRecorder;
}

/** Calls a tool that prints `begun NAME`, and waits until it has. */
async function begin(
	{ pool, events }: Opened,
	tool: string,
	signal = new AbortController().signal,
): Promise<{ answer: Promise<unknown>; incarnation: string }> {
	const begun = events.next(
		"worker.output",
		({ line }) => line === `begun ${tool}`,
	);
	const answer = pool.execute(tool, {}, { signal });
	answer.catch(() => {});
	const { incarnation } = await begun;
	return { answer, incarnation };
}

test.each([
	"sleep",
	"busy_loop",
	"lock",
	"socket_read",
	"child_process",
	"async_sleep",
	"between_items",
])(
	"a cancelled %s frees the worker, which is not replaced",
	{ timeout: 60_000 },
	async (tool) => {
		const calls = { cancelGraceMs: 10_000 };
		const opened = await testPool({ adapter, calls });
		const { pool } = opened;
		const pid = await pool.execute("pid");
		for (let round = 0; round < 3; round++) {
			const abort = new AbortController();
			const { answer } = await begin(opened, tool, abort.signal);
			abort.abort();
			await expect(answer).rejects.toMatchObject({
				code: "CALL_ABORTED",
				ran: "maybe",
			});
			expect(await pool.execute("pid")).toBe(pid);
		}
		expect(pool.statistics().restarts).toBe(0);
	},
);

test("a call that holds Python's lock in C is replaced after the grace", {
	timeout: 60_000,
}, async () => {
	const { pool } = await testPool({ adapter, calls: { cancelGraceMs: 300 } });
	const pid = await pool.execute("pid");
	const call = pool.execute("hold_the_gil", {}, { timeoutMs: 200 });
	await expect(call).rejects.toMatchObject({
		code: "CALL_TIMEOUT",
		ran: "maybe",
	});
	expect(await pool.execute("pid")).not.toBe(pid);
});

test("a worker in which something keeps every call from its end is replaced, though each obeys its cancel", {
	timeout: 60_000,
}, async () => {
	const { pool, events } = await testPool({ adapter });
	const retiring = () => events.of("worker.retiring");
	const stuck = await pool.execute("leaves_a_lock_held");
	while (retiring().length === 0) {
		const call = pool.execute("needs_the_lock", {}, { timeoutMs: 200 });
		const outcome: unknown = await call.catch((error: unknown) => error);
		// The worker may be replaced while the call waits for it.
		if (retiring().length > 0 && typeof outcome === "number") {
			expect(outcome).not.toBe(stuck);
			break;
		}
		expect(outcome).toMatchObject({ code: "CALL_TIMEOUT" });
	}
	expect(retiring().map(({ reason }) => reason)).toEqual(["cancels"]);
	expect(await pool.execute("needs_the_lock")).not.toBe(stuck);
	expect(pool.statistics().restarts).toBe(0);
});

test("in a worker with threads, a deadline and an abort end the call that they are of, and no other", {
	timeout: 60_000,
}, async () => {
	const calls = { cancelGraceMs: 30_000 };
	const opened = await testPool({ adapter, callsPerWorker: 3, calls });
	const { pool } = opened;
	const pid = await pool.execute("pid");
	const held = await begin(opened, "hold");
	for (let round = 0; round < 2; round++) {
		const abort = new AbortController();
		const { answer } = await begin(opened, "busy_loop", abort.signal);
		abort.abort();
		await expect(answer).rejects.toMatchObject({ code: "CALL_ABORTED" });
		const late = pool.execute("busy_loop", {}, { timeoutMs: 300 });
		await expect(late).rejects.toMatchObject({ code: "CALL_TIMEOUT" });
	}
	expect(await pool.execute("release")).toBe(pid);
	expect(await held.answer).toBe(pid);
	expect(pool.statistics().restarts).toBe(0);
});

test.each(["stay_in_c", "hold_the_gil"])(
	"where a cancelled call in a thread does not come back (%s), the worker is replaced after the grace, and its other calls are lost",
	{ timeout: 60_000 },
	async (tool) => {
		const calls = { cancelGraceMs: 300 };
		const opened = await testPool({ adapter, callsPerWorker: 3, calls });
		const { pool } = opened;
		const pid = await pool.execute("pid");
		const held = await begin(opened, "hold");
		const abort = new AbortController();
		const { answer } = await begin(opened, tool, abort.signal);
		abort.abort();
		await expect(answer).rejects.toMatchObject({
			code: "CALL_ABORTED",
			ran: "maybe",
		});
		await expect(held.answer).rejects.toMatchObject({
			code: "WORKER_REPLACED",
			ran: "maybe",
		});
		expect(await pool.execute("pid")).not.toBe(pid);
	},
);

test("no call fails because another program stopped a worker", {
	timeout: 60_000,
}, async () => {
	const opened = await testPool({ adapter, size: 2, callsPerWorker: 2 });
	const { pool, events } = opened;
	// Until it is cancelled it keeps its worker, which refuses calls meanwhile.
	const { answer, incarnation } = await begin(opened, "async_sleep");
	const worker = pool
		.workers()
		.find((each) => each.incarnation === incarnation);
	process.kill(worker?.pid ?? Number.NaN, "SIGTERM");
	const leaving = () =>
		events.of("worker.retiring").filter(({ reason }) => reason === "leaving");
	while (leaving().length === 0)
		await Promise.all(Array.from({ length: 4 }, () => pool.execute("pid")));
	expect(leaving()).toMatchObject([{ incarnation }]);
	await expect(answer).rejects.toMatchObject({
		code: "WORKER_REPLACED",
		ran: "maybe",
	});
	await events.waitFor("worker.exited");
	expect(await pool.execute("pid")).not.toBe(worker?.pid);
});

test("a call whose input was read and that never started is reported so, and not repeated without it", {
	timeout: 60_000,
}, async () => {
	const opened = await testPool({ adapter, callsPerWorker: 2 });
	const { pool } = opened;
	await begin(opened, "block_the_loop");
	const read = Promise.withResolvers<void>();
	async function* numbers(): AsyncGenerator<number> {
		yield 1;
		yield 2;
		read.resolve();
	}
	// It waits for the loop that the other one blocks.
	const waits = expect(
		pool.execute("collect", {}, { input: numbers() }),
	).rejects.toMatchObject({ code: "WORKER_REPLACED", ran: "no" });
	await read.promise;
	process.kill(pool.workers()[0]?.pid ?? Number.NaN, "SIGTERM");
	await waits;
});
