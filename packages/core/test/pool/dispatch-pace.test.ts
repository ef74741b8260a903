import { describe, expect, test } from "vitest";
import type { PoolOptions } from "../../src/options/pool-options.ts";
import { resolveOptions } from "../../src/options/resolve-pool-options.ts";
import type { Call } from "../../src/pool/calls/call.ts";
import { DispatchPace } from "../../src/pool/placement/dispatch-pace.ts";
import { Placement } from "../../src/pool/placement/placement.ts";
import { NOWHERE } from "../../src/pool/placement/wait-queue.ts";
import { scriptedAdapter } from "../../src/testing/scripted-adapter.ts";
import { virtualWorld } from "../../src/testing/virtual-pool.ts";
import { scripts } from "../../src/testing.ts";
import type { Worker } from "../../src/worker/worker.ts";
import { outcome, type VirtualPool, virtualPool } from "./virtual-pool.ts";

describe("the pace of dispatching", () => {
	/** Turns are taken by hand. Each worker wants so many calls. */
	function scene(atOnce: number, wants: Readonly<Record<string, number>>) {
		const soon: (() => void)[] = [];
		const left = new Map(Object.entries(wants));
		let sent = "";
		const serve = (worker: string): void => {
			for (;;) {
				const wanted = left.get(worker) ?? 0;
				if (wanted === 0) return;
				if (pace.isReached) {
					pace.postpone(worker);
					return;
				}
				pace.count();
				left.set(worker, wanted - 1);
				sent += worker;
			}
		};
		const { clock } = virtualWorld();
		const pace = new DispatchPace<string>(
			{
				now: () => clock.now(),
				wall: () => clock.wall(),
				after: (ms, action) => clock.after(ms, action),
				soon: (action) => void soon.push(action),
			},
			atOnce,
			serve,
		);
		return {
			pace,
			left,
			serveAll: (workers: string) => {
				for (const worker of workers) serve(worker);
			},
			/** What was sent since the last look. */
			sent: () => {
				const all = sent;
				sent = "";
				return all;
			},
			/** Takes the next turn; says whether anybody asked for it. */
			turn: () => {
				const actions = soon.splice(0);
				for (const action of actions) action();
				return actions.length;
			},
		};
	}

	test("holds for one worker with room for many, too, and a worker that came after it is not forgotten", () => {
		const { serveAll, sent, turn } = scene(2, { a: 5, b: 2 });
		serveAll("ab");
		const turns: string[] = [sent()];
		while (turn() > 0) turns.push(sent());
		expect(turns).toEqual(["aa", "aa", "bb", "a"]);
	});

	test("asks for a turn only when something has to wait for it", () => {
		const { pace, serveAll, turn } = scene(2, { a: 1, b: 1 });
		serveAll("ab");
		expect([pace.isReached, turn()]).toEqual([true, 0]);
	});

	test("is kept where what is released has something to send all the same", () => {
		const { pace, serveAll, sent, turn } = scene(1, { a: 1, b: 1, c: 1 });
		serveAll("abc");
		pace.release();
		expect([...pace.postponed]).toEqual(["b", "c"]);
		const turns: string[] = [sent()];
		while (turn() > 0) turns.push(sent());
		expect(turns).toEqual(["a", "b", "c"]);
	});

	test("lets no call pass that comes while others wait for their turn", () => {
		const { serveAll, sent, turn } = scene(1, { a: 1, b: 1, c: 1 });
		serveAll("ab");
		turn();
		serveAll("c");
		expect(sent()).toBe("ab");
		turn();
		expect(sent()).toBe("c");
	});

	test("holds no call back when there is nothing to send any more", () => {
		const { pace, left, serveAll, sent, turn } = scene(1, { a: 1, b: 1, c: 1 });
		serveAll("abc");
		expect([...pace.postponed]).toEqual(["b", "c"]);
		left.clear();
		pace.release();
		expect([...pace.postponed]).toEqual([]);
		expect([turn(), sent()]).toEqual([1, "a"]);
		expect([pace.isReached, turn()]).toEqual([false, 0]);
	});
});

test("a worker that is gone before its turn is not served, and so not known any more", () => {
	const { clock } = virtualWorld();
	const soon: (() => void)[] = [];
	const served: Worker[] = [];
	const placement = new Placement(
		resolveOptions({ adapter: scriptedAdapter({}) }, 2),
		{ min: 2, max: 2 },
		new DispatchPace(
			{
				now: () => clock.now(),
				wall: () => clock.wall(),
				after: (ms, action) => clock.after(ms, action),
				soon: (action) => void soon.push(action),
			},
			1,
			(worker) => void served.push(worker),
		),
	);
	const worker = (incarnation: string): Worker =>
		({
			ref: { incarnation },
			calls: { attempts: [] },
			hasCapacity: true,
		}) as unknown as Worker;
	for (const sequence of [1, 2, 3])
		placement.wait({ sequence, priority: 0, place: NOWHERE } as Call);
	const [one, other] = [worker("run-1"), worker("run-2")];
	expect(placement.callFor(one)).toMatchObject({ sequence: 1 });
	expect(placement.callFor(other)).toBeUndefined();
	placement.remove(other);
	for (const action of soon) action();
	expect([soon.length, served]).toEqual([1, []]);
	expect(placement.resume()).toEqual([one]);
});

describe("workers that become idle together", () => {
	const AT_ONCE = 2;
	const WORKERS = 6;

	/** A pool whose workers all run a call that ends when `open` is called, in the same turn. */
	async function gated(options: Omit<PoolOptions, "adapter"> = {}): Promise<
		VirtualPool & {
			readonly open: () => Promise<unknown>;
			/** What began, in order. */
			readonly order: readonly unknown[];
		}
	> {
		const gate = Promise.withResolvers<void>();
		const order: unknown[] = [];
		const made = await virtualPool(
			{
				commands: {
					gated: () => gate.promise,
					note: ({ args }) => void order.push(args),
					hang: scripts.hang,
				},
			},
			{ size: WORKERS, ...options },
			1,
			AT_ONCE,
		);
		const blocking = Array.from({ length: WORKERS }, () =>
			made.pool.execute("gated"),
		);
		return {
			...made,
			order,
			open: () => {
				gate.resolve();
				return Promise.all(blocking);
			},
		};
	}

	test("get the calls that wait over several turns, a few in each", async () => {
		const { pool, events, clock, open } = await gated();
		const waiting = Array.from({ length: 20 }, () => pool.execute("hang"));
		for (const call of waiting) call.catch(() => {});
		const before = events.of("call.dispatched").length;
		await open();
		expect(events.of("call.dispatched").length - before).toBe(AT_ONCE);
		await clock.settle();
		expect(events.of("call.dispatched").length - before).toBe(WORKERS);
	});

	test("serve them by priority and arrival, those that come meanwhile too", async () => {
		const { pool, clock, open, order } = await gated();
		const calls = [1, 2, 3, 4].map((n) => pool.execute("note", n));
		await open();
		calls.push(pool.execute("note", "late"));
		calls.push(pool.execute("note", "urgent", { priority: 1 }));
		expect(order).toEqual([1, 2]);
		await clock.settle();
		await Promise.all(calls);
		expect(order).toEqual([1, 2, "urgent", 3, 4, "late"]);
	});

	test("are no way past the line for a session that prefers one of them", async () => {
		const { pool, clock, open, order } = await gated();
		const session = pool.session();
		// It is bound to the last worker that becomes idle.
		await clock.settle();
		const first = session.execute("gated");
		const calls = [1, 2, 3, 4, 5, 6, 7].map((n) => pool.execute("note", n));
		await open();
		await first;
		const late = session.execute("note", "of the session");
		await clock.settle();
		await Promise.all([...calls, late]);
		expect(order).toEqual([1, 2, 3, 4, 5, 6, 7, "of the session"]);
	});

	test("make room in the queue at once, though their calls follow in the next turns", async () => {
		const { pool, clock, open, order } = await gated({
			queue: { limit: WORKERS },
		});
		const calls = [1, 2, 3, 4, 5, 6].map((n) => pool.execute("note", n));
		expect(await outcome(pool.execute("note", "too many"))).toMatchObject({
			code: "QUEUE_FULL",
		});
		await open();
		const more = [7, 8, 9, 10, 11, 12].map((n) => pool.execute("note", n));
		expect(await outcome(pool.execute("note", "too many"))).toMatchObject({
			code: "QUEUE_FULL",
		});
		await clock.settle();
		await Promise.all([...calls, ...more]);
		expect(order).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
	});

	test("are there for a new call when none waits any more", async () => {
		const { pool, clock, open, order } = await gated();
		const leaving = new AbortController();
		const { signal } = leaving;
		const calls = [1, 2, 3, 4].map((n) =>
			outcome(pool.execute("note", n, { signal })),
		);
		await open();
		leaving.abort();
		await Promise.all(calls);
		const now = pool.execute("note", "now");
		expect(order).toEqual([1, 2, "now"]);
		await clock.settle();
		await now;
	});

	test("and end before their turn leave their calls to the others", async () => {
		const { pool, clock, open, adapter, order } = await gated();
		const calls = [1, 2, 3, 4, 5, 6, 7].map((n) => pool.execute("note", n));
		await open();
		for (const worker of adapter.living().slice(2, 5)) worker.crash();
		await clock.advance(60_000);
		await Promise.all(calls);
		expect([...order].sort()).toEqual([1, 2, 3, 4, 5, 6, 7]);
	});
});
