import { expect, test } from "vitest";
import { CallAbortedError, WorkerLostError } from "../../src/index.ts";
import type { LeaseTask } from "../../src/pool/work/lease.ts";
import type { ScriptedWorker } from "../../src/testing/scripted-worker.ts";
import { scripts } from "../../src/testing.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

/** The client of a scripted worker is the worker itself. */
const script = {
	client: (worker: ScriptedWorker) => worker,
	commands: { echo: scripts.echo },
};
const numberOf: LeaseTask<unknown, number> = (worker) =>
	(worker as ScriptedWorker).number;

test("a task gets the client and the identity of one worker, and its result is the result of the lease", async () => {
	const { pool, events } = await virtualPool(script);
	const [view] = pool.workers();
	expect(
		await pool.use((client, { workerId, incarnation, signal }) => ({
			number: numberOf(client, {} as never),
			...{ workerId, incarnation, isAborted: signal.aborted },
		})),
	).toEqual({
		number: 1,
		workerId: view?.workerId,
		incarnation: view?.incarnation,
		isAborted: false,
	});
	expect(events.of("call.settled")).toMatchObject([
		{ command: "lease", outcome: "succeeded" },
	]);
});

test("a worker has room again when its task has settled, and not before", async () => {
	const { pool, clock } = await virtualPool(script);
	const task = Promise.withResolvers<string>();
	const first = pool.use(() => task.promise);
	const second = outcome(pool.execute("echo", "second"));
	await clock.advance(1_000);
	expect(pool.statistics().calls).toMatchObject({ running: 1, waiting: 1 });
	task.resolve("first");
	expect(await first).toBe("first");
	expect(await second).toEqual({ kind: "value", value: "second" });
});

test("what a task throws reaches its caller as it is, and is a failure in events", async () => {
	const { pool, events } = await virtualPool(script);
	class Mine extends Error {}
	const mine = new Mine("of the task");
	const thrown = await pool
		.use(() => Promise.reject(mine))
		.catch((error: unknown) => error);
	expect(thrown).toBe(mine);
	expect(events.of("call.settled")).toMatchObject([{ outcome: "failed" }]);
	// Also what is no Error, and what says of another worker that it is gone: here it is no reason to try again.
	for (const error of [
		"words",
		new WorkerLostError({ code: "WORKER_EXITED", ran: "no", message: "other" }),
	]) {
		let runs = 0;
		const task = (): never => {
			runs++;
			throw error;
		};
		expect(
			await pool
				.use(task, { retry: { attempts: 4 } })
				.catch((caught: unknown) => caught),
		).toBe(error);
		expect(runs).toBe(1);
	}
	expect(await pool.use(numberOf)).toBe(1);
});

test("a task whose worker dies is lost with it, and runs again only where that is allowed", async () => {
	const { pool, clock, adapter } = await virtualPool(script);
	const dying = (): Promise<never> => {
		adapter.workers.at(-1)?.crash();
		return new Promise(() => {});
	};
	const lost = outcome(pool.use(dying));
	await clock.advance(10_000);
	expect(await lost).toMatchObject({ code: "WORKER_EXITED", ran: "maybe" });
	let runs = 0;
	const again = pool.use(
		(client, lease) => (++runs === 1 ? dying() : numberOf(client, lease)),
		{ retry: { attempts: 2 } },
	);
	await clock.advance(10_000);
	expect(await again).toBe(3);
});

test("the error of a client whose conversation has ended is the worker's end", async () => {
	const { pool, clock, adapter } = await virtualPool(script);
	const task = Promise.withResolvers<never>();
	const lost = outcome(pool.use(() => task.promise));
	await clock.advance(1);
	adapter.workers[0]?.breakConversation();
	task.reject(new Error("the client lost its server"));
	await clock.advance(60_000);
	expect(await lost).toMatchObject({
		ran: "maybe",
		error: expect.any(WorkerLostError),
	});
});

test("cancelling aborts the task's signal; one that runs on costs its worker", async () => {
	const { pool, clock, adapter } = await virtualPool(script, {
		calls: { cancelGraceMs: 500 },
	});
	const controller = new AbortController();
	const kind = outcome(
		pool.use(
			(_client, { signal }) =>
				new Promise<never>((_resolve, reject) => {
					signal.addEventListener("abort", () => reject(signal.reason));
				}),
			{ signal: controller.signal },
		),
	);
	await clock.advance(1);
	controller.abort();
	expect(await kind).toMatchObject({ code: "CALL_ABORTED", ran: "maybe" });
	expect(await pool.use(numberOf)).toBe(1);

	const deaf = outcome(
		pool.use(() => new Promise<never>(() => {}), { timeoutMs: 100 }),
	);
	await clock.advance(100);
	expect(await deaf).toMatchObject({ code: "CALL_TIMEOUT" });
	await clock.advance(10_000);
	expect(adapter.workers).toHaveLength(2);
});

test("a session's leases use its worker", async () => {
	const { pool } = await virtualPool(script, { size: 3 });
	const session = pool.session({ affinity: "strict" });
	const numbers = [];
	for (let lease = 0; lease < 4; lease++)
		numbers.push(await session.use(numberOf));
	expect(new Set(numbers).size).toBe(1);
});

test("an adapter without a client refuses, and so does a pool whose options or task are wrong", async () => {
	const { pool, close } = await virtualPool({ commands: {} });
	expect(await outcome(pool.use(numberOf))).toMatchObject({
		code: "NOT_OFFERED",
		ran: "no",
	});
	expect(await outcome(pool.use("task" as never))).toMatchObject({
		code: "INVALID_OPTION",
	});
	expect(
		await outcome(pool.use(numberOf, { input: [] } as never)),
	).toMatchObject({ code: "UNKNOWN_OPTION" });
	await close();
	expect(await outcome(pool.use(numberOf))).toMatchObject({
		code: "POOL_CLOSED",
	});
});

test("a task that throws a CallAbortedError of its own is not a cancelled lease", async () => {
	const { pool } = await virtualPool(script);
	const error = new CallAbortedError({
		code: "CALL_ABORTED",
		ran: "maybe",
		message: "another",
	});
	expect(
		await pool.use(() => Promise.reject(error)).catch((caught) => caught),
	).toBe(error);
});

test("errors about a lease name it as such, and say what it did", async () => {
	const { pool, clock, close } = await virtualPool(script, {
		calls: { cancelGraceMs: 1_000 },
	});
	const ended = Promise.withResolvers<void>();
	const running = outcome(pool.use(() => ended.promise, { timeoutMs: 50 }));
	const waiting = outcome(pool.use(() => {}, { queueTimeoutMs: 20 }));
	await clock.advance(100);
	const messages = [await running, await waiting].map((each) =>
		each.kind === "error" ? each.error.message : "",
	);
	expect(messages).toEqual([
		expect.stringMatching(
			/^Lease \S+ of pool \S+ passed its deadline after 50 ms, while it was running/,
		),
		expect.stringMatching(/^Lease \S+ waited 20 ms for a worker/),
	]);
	ended.resolve();
	const closed = close();
	expect(await outcome(pool.use(() => {}))).toMatchObject({
		code: "POOL_CLOSED",
		error: {
			message: expect.stringMatching(
				/so "pool.use" was not run. A pool closes/,
			),
		},
	});
	await closed;
});
