import { expect, test } from "vitest";
import { WorkerLostError } from "../../src/contract/errors.ts";
import { connectFails } from "../../src/testing/scripted-adapter.ts";
import { virtualPoolBench } from "../../src/testing/virtual-pool.ts";
import { scripts } from "../../src/testing.ts";
import {
	closedVirtualPool,
	outcome,
	virtualPool,
	virtualPoolOver,
} from "./virtual-pool.ts";

const commands = {
	echo: scripts.echo,
	crash: scripts.crash,
	work: scripts.work,
	breakConversation: scripts.breakConversation,
};

test("a call whose worker dies fails as maybe run, with the worker's last lines, and queued calls complete", async () => {
	const { pool, clock, adapter } = await virtualPool({
		commands: {
			...commands,
			crash: (call) => {
				call.worker.process.output.stderr.write("out of paper\n");
				return scripts.crash(call);
			},
		},
	});
	const crashed = outcome(pool.execute("crash"));
	const queued = ["a", "b", "c"].map((name) => pool.execute("echo", name));
	await clock.advance(1_000);
	expect(await Promise.all(queued)).toEqual(["a", "b", "c"]);
	const lost = await crashed;
	expect(lost).toMatchObject({ code: "WORKER_EXITED", ran: "maybe" });
	expect(lost.kind === "error" && lost.error.message).toContain("out of paper");
	expect(adapter.workers).toHaveLength(2);
	expect(pool.statistics().restarts).toBe(1);
});

test("a broken conversation is the end of its worker, and the error of its call says so", async () => {
	const { pool, clock, events } = await virtualPool({ commands });
	const broken = outcome(pool.execute("breakConversation"));
	await clock.advance(1_000);
	expect(await broken).toMatchObject({ code: "WORKER_EXITED", ran: "maybe" });
	expect(await pool.execute("echo", 1)).toBe(1);
	expect(events.of("worker.condemned")).toMatchObject([{ reason: "broken" }]);
});

test("a call that is declared idempotent is made again on another worker", async () => {
	let crashes = 1;
	const { pool, clock, events } = await virtualPool({
		commands: {
			sometimes: (call) =>
				crashes-- > 0 ? scripts.crash(call) : scripts.echo(call),
		},
	});
	const call = pool.execute("sometimes", "x", { retry: { attempts: 3 } });
	await clock.advance(1_000);
	expect(await call).toBe("x");
	expect(events.of("call.retried")).toMatchObject([
		{ because: "WORKER_EXITED" },
	]);
	expect(events.of("call.settled")).toMatchObject([{ attempts: 2 }]);
});

test("a worker that dies while idle is replaced on its slot under a new incarnation", async () => {
	const { pool, clock, adapter, events } = await virtualPool(
		{ commands },
		{ size: 2 },
	);
	const [first] = adapter.workers;
	first?.crash();
	await clock.advance(1_000);
	const starts = events.of("worker.starting");
	expect(starts.at(-1)).toMatchObject({
		workerId: "scripted-0",
		replaces: first?.slot.incarnation,
	});
	expect(pool.workers().map(({ state }) => state)).toEqual(["ready", "ready"]);
	expect(new Set(starts.map(({ incarnation }) => incarnation)).size).toBe(3);
});

test("a crash loop backs off, spends its budget, reports it, and tries again when the window has passed", async () => {
	const { pool, clock, adapter, events } = await virtualPool(
		{
			commands: { echo: scripts.echo },
			boot: (process, attempt) => (attempt > 1 ? process.exit(3) : undefined),
		},
		{
			start: {
				maxRestarts: 4,
				backoffMs: 100,
			},
		},
	);
	adapter.workers[0]?.crash();
	await clock.advance(0);
	const call = outcome(pool.execute("echo", 1));
	await clock.advance(10_000);
	expect(events.of("pool.restart_budget_spent")).toMatchObject([
		{ restarts: 4, windowMs: 60_000 },
	]);
	expect(events.of("worker.starting")).toHaveLength(1 + 4);
	expect(await call).toMatchObject({ kind: "error", ran: "no" });
	await clock.advance(60_000);
	expect(events.of("worker.starting").length).toBeGreaterThan(5);
});

test("with no worker at all, calls wait for three failed starts in a row, whatever the budget allows", async () => {
	const { pool, clock, adapter, close, events } = await virtualPool(
		{
			commands,
			connect: ({ number }) =>
				number % 3 === 0 || number > 6 ? undefined : connectFails()(),
		},
		{ size: { min: 0, max: 1 } },
	);
	// Two starts fail, and two more after the first worker has died.
	for (const call of [1, 2]) {
		expect(await clock.advanceUntil(pool.execute("echo", call))).toBe(call);
		adapter.living()[0]?.crash();
		await clock.advance(60_000);
	}
	expect(events.of("worker.start_failed")).toHaveLength(4);
	await close();
	const unusable = await virtualPool(
		{ commands, connect: connectFails("no model") },
		{ size: { min: 0, max: 1 } },
	);
	const call = outcome(unusable.pool.execute("echo", 1));
	await unusable.clock.advanceUntil(call);
	expect(await call).toMatchObject({ code: "CONNECT_FAILED", ran: "no" });
	expect(unusable.events.of("worker.start_failed")).toHaveLength(3);
});

test("a pool whose first worker cannot start rejects with its reason and leaves nothing", async () => {
	const { life, clock, host, registry } = closedVirtualPool(
		{ connect: connectFails("wrong number") },
		{ size: 2 },
	);
	const opened = outcome(life.open());
	await clock.advance(10_000);
	const failed = await opened;
	expect(failed).toMatchObject({ code: "CONNECT_FAILED" });
	expect(failed.kind === "error" && failed.error.message).toContain(
		"wrong number",
	);
	expect(host.living()).toHaveLength(0);
	expect(registry.living()).toHaveLength(0);
});

test("closing while workers are starting ends them too", async () => {
	const { life, pool, clock, host } = closedVirtualPool(
		{ connect: () => new Promise(() => {}) },
		{ size: 3 },
	);
	const opened = outcome(life.open());
	await clock.advance(10);
	const closed = pool.close();
	await clock.advance(60_000);
	await closed;
	expect(await opened).toMatchObject({ kind: "error" });
	expect(host.living()).toHaveLength(0);
});

test("a worker whose conversation breaks because it dies is reported as dead, not as killed", async () => {
	const { pool, clock, events } = await virtualPool({
		commands: {
			...commands,
			dies: async (call) => {
				call.worker.breakConversation();
				await call.worker.process.sleep(20); // The kernel's word comes later.
				call.worker.process.exit(3);
				return await new Promise(() => undefined);
			},
		},
	});
	const call = outcome(pool.execute("dies"));
	await clock.advance(1_000);
	const lost = await call;
	expect(lost).toMatchObject({ code: "WORKER_EXITED", ran: "maybe" });
	expect(lost.kind === "error" && lost.error.message).toContain(
		"exited with code 3 while",
	);
	expect(events.of("worker.exited")).toMatchObject([
		{ reason: "exited", killer: "none", exit: { kind: "code", code: 3 } },
	]);
});

test("an adapter that never closes its connection to a dead worker delays neither the replacement nor the close", async () => {
	const { pool, clock, adapter, host } = await virtualPoolOver(
		() => ({ [Symbol.asyncDispose]: () => new Promise(() => {}) }),
		{ commands },
	);
	adapter.workers[0]?.crash();
	await clock.advance(50);
	expect(await pool.execute("echo", 1)).toBe(1);
	const closed = pool.close();
	await clock.advance(10_000);
	await closed;
	expect(host.living()).toHaveLength(0);
});

test("a call that was tried before is never reported as not begun", async () => {
	const { pool, clock } = await virtualPool(
		{
			commands,
			boot: (process, attempt) => (attempt > 1 ? process.exit(3) : undefined),
		},
		{ start: { maxRestarts: 3, backoffMs: 10 } },
	);
	const tried = outcome(
		pool.execute("crash", undefined, { retry: { attempts: 6 } }),
	);
	const waited = outcome(pool.execute("echo", 1));
	await clock.advance(10_000);
	expect(await tried).toMatchObject({ kind: "error", ran: "maybe" });
	expect(await waited).toMatchObject({ kind: "error", ran: "no" });
});

test("a pool that is closed while its adapter prepares starts nothing, and the adapter is notified", async () => {
	let aborted = false;
	const { life, pool, clock, host } = closedVirtualPool({
		prepare: (signal) =>
			new Promise((resolve) => {
				signal.addEventListener("abort", () => {
					aborted = true;
					resolve();
				});
			}),
	});
	const opened = outcome(life.open());
	await clock.advance(10);
	const closed = pool.close();
	await clock.advance(10);
	await closed;
	expect(await opened).toMatchObject({ code: "POOL_CLOSED", ran: "no" });
	expect(aborted).toBe(true);
	expect(host.started).toHaveLength(0);
});

test("a program that dies of a signal sees no failure on the way", async () => {
	const { life, pool, clock, host } = await virtualPool({
		commands: { hang: scripts.hang },
	});
	let isSettled = false;
	const settle = (): void => {
		isSettled = true;
	};
	pool.execute("hang").then(settle, settle);
	await clock.advance(1);
	const closed = life.close("gentle", 100, "dies");
	await clock.advance(60_000);
	await closed;
	expect(isSettled).toBe(false);
	expect(host.living()).toHaveLength(0);
});

test("a program that dies of a signal may make calls on the way, and sees no failure either", async () => {
	const { life, pool, clock, host } = await virtualPoolBench({
		commands: { echo: scripts.echo },
	});
	const failures: unknown[] = [];
	const note = (error: unknown): void => void failures.push(error);
	const pause = (): Promise<void> =>
		new Promise((resolve) => void clock.after(10, resolve));
	const goesOn = async (call: () => PromiseLike<unknown>): Promise<void> => {
		for (;;) {
			await call();
			await pause();
		}
	};
	async function* endless() {
		for (;;) {
			yield 1;
			await pause();
		}
	}
	const mapped = async (): Promise<void> => {
		for await (const _ of pool.map("echo", endless()));
	};
	const streamed = pool.stream("echo")[Symbol.asyncIterator]();
	goesOn(() => pool.execute("echo", 1)).catch(note);
	goesOn(() => pool.session().execute("echo", 1)).catch(note);
	mapped().catch(note);
	await clock.advance(50);
	const closed = life.close("gentle", 100, "dies");
	const late = streamed.next();
	late.catch(note);
	await clock.advance(60_000);
	await closed;
	expect(failures).toEqual([]);
	expect(host.living()).toHaveLength(0);
	// Who leaves a loop is not held up by it.
	expect(await streamed.return?.()).toMatchObject({ done: true });
});

test("a worker that announces its leave gets no more calls, and is replaced when it is gone", async () => {
	const asked: string[] = [];
	let left: string | undefined;
	const { pool, clock, events } = await virtualPool(
		{
			commands: {
				echo: (call) => {
					const { incarnation } = call.worker.slot;
					asked.push(incarnation);
					left ??= incarnation;
					if (incarnation === left) throw leaving();
					return scripts.echo(call);
				},
			},
		},
		{ size: 2 },
	);
	const calls = Promise.all([1, 2, 3, 4].map((n) => pool.execute("echo", n)));
	await clock.advance(10_000);
	expect(await calls).toEqual([1, 2, 3, 4]);
	expect(asked.filter((incarnation) => incarnation === left)).toHaveLength(1);
	expect(events.of("worker.retiring")).toMatchObject([
		{ incarnation: left, reason: "leaving" },
	]);
	expect(events.of("worker.exited")).toMatchObject([
		{ incarnation: left, reason: "exited" },
	]);
	expect(pool.workers().map(({ state }) => state)).toEqual(["ready", "ready"]);
});

test("a call whose input was opened is not made again with what is left of it", async () => {
	async function* numbers(): AsyncGenerator<number> {
		yield* [1, 2, 3];
	}
	const { pool, clock } = await virtualPool({
		commands: {
			collect: async ({ input = [] }) => {
				for await (const _ of input) throw leaving();
			},
			refuse: () => {
				throw leaving();
			},
		},
	});
	const opened = outcome(pool.execute("collect", [], { input: numbers() }));
	const plain = outcome(pool.execute("collect", [], { input: [1, 2, 3] }));
	const unread = outcome(pool.execute("refuse", [], { input: numbers() }));
	const attempts: Record<string, number> = {};
	pool.on("call.settled", (event) => {
		attempts[event.callId] = event.attempts;
	});
	await clock.advance(30_000);
	for (const rejected of [opened, plain, unread])
		expect(await rejected).toMatchObject({
			code: "WORKER_REPLACED",
			ran: "no",
		});
	expect(attempts).toEqual({ c1: 1, c2: 1, c3: 5 });
});

test("a worker that dies while it finishes its calls is reported as dead, not as recycled", async () => {
	const { pool, clock, events } = await virtualPool(
		{
			commands: {
				workThenCrash: async (call) => {
					await scripts.work(call);
					return scripts.crash(call);
				},
			},
		},
		{ recycle: { afterMs: 50 } },
	);
	const call = outcome(pool.execute("workThenCrash", 500));
	await clock.advance(1_000);
	expect(await call).toMatchObject({ code: "WORKER_EXITED", ran: "maybe" });
	expect(events.of("worker.retiring")[0]).toMatchObject({ reason: "age" });
	const lossy = events.of("worker.exited").filter((end) => end.callsLost > 0);
	expect(lossy).toMatchObject([{ reason: "exited", callsLost: 1 }]);
});

function leaving(): WorkerLostError {
	return new WorkerLostError({
		code: "WORKER_REPLACED",
		ran: "no",
		message: "it leaves",
	});
}
