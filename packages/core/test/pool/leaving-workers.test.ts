import { expect, test } from "vitest";
import { WorkerLostError } from "../../src/contract/errors.ts";
import { scripts } from "../../src/testing.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

test("a call that may have begun once is reported so, however the next attempts end", async () => {
	let attempts = 0;
	const { pool, clock, close } = await virtualPool({
		commands: {
			unlucky: (call) => {
				if (++attempts === 1) return scripts.crash(call);
				throw leaving();
			},
		},
	});
	const call = outcome(
		pool.execute("unlucky", undefined, { retry: { attempts: 2 } }),
	);
	await clock.advance(30_000);
	expect(await call).toMatchObject({ code: "WORKER_REPLACED", ran: "maybe" });
	expect(attempts).toBe(6);
	await close();
});

test("attempts that never began take nothing from how often a call may be made again", async () => {
	let attempts = 0;
	const { pool, clock, close } = await virtualPool({
		commands: {
			unlucky: (call) => {
				attempts++;
				if (attempts <= 2) throw leaving();
				return attempts === 3 ? scripts.crash(call) : scripts.echo(call);
			},
		},
	});
	const call = pool.execute("unlucky", "x", { retry: { attempts: 2 } });
	await clock.advance(30_000);
	expect(await call).toBe("x");
	await close();
});

test("a worker that announces its leave gets no more calls, and is replaced when it is gone", async () => {
	const asked: string[] = [];
	let left: string | undefined;
	const { pool, clock, close, events } = await virtualPool(
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
	await close();
	events.assertPaired();
});

test("a call whose input was opened is not made again with what is left of it", async () => {
	async function* numbers(): AsyncGenerator<number> {
		yield* [1, 2, 3];
	}
	const { pool, clock, close } = await virtualPool({
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
	await close();
});

test("a worker that dies while it finishes its calls is reported as dead, not as recycled", async () => {
	const { pool, clock, close, events } = await virtualPool(
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
	await close();
});

function leaving(): WorkerLostError {
	return new WorkerLostError({
		code: "WORKER_REPLACED",
		ran: "no",
		message: "it leaves",
	});
}
