import { expect, test } from "vitest";
import { type ScriptedCall, scripts } from "../../src/testing.ts";
import { outcome, virtualPool, virtualPoolOver } from "./virtual-pool.ts";

const commands = {
	whoami: scripts.whoami,
	work: scripts.work,
	crash: scripts.crash,
	session: async ({ sessionId }: { sessionId: string | undefined }) =>
		sessionId,
};

test("a call that came before its strict session was bound runs on the session's worker, also when that is replaced meanwhile", async () => {
	const { pool, clock } = await virtualPool(
		{
			commands: { work: scripts.work, whoami: scripts.whoami },
			connect: ({ number, process }) =>
				number > 1 ? process.sleep(150) : undefined,
		},
		{ size: 1, recycle: { afterMs: 5_000 } },
	);
	await clock.advance(4_995);
	// While it runs, its worker is worn, and the successor warms up.
	const before = pool.execute("work", 100);
	const session = pool.session({ affinity: "strict" });
	const binding = session.execute("work", 200);
	const between = pool.execute("work", 500);
	const early = session.execute("whoami");
	await clock.advanceUntil(Promise.all([before, binding, between]));
	expect(await clock.advanceUntil(early, 1_000)).toBe(session.incarnation);
	session.close();
});

test("a strict session stays with the process of its first call, also when that is busy", async () => {
	const { pool, clock } = await virtualPool({ commands }, { size: 3 });
	const session = pool.session({ affinity: "strict" });
	const home = await session.execute("whoami");
	const busy = session.execute("work", 100);
	const later = session.execute("whoami");
	expect(await pool.execute("whoami")).not.toBe(home);
	await clock.advance(100);
	await busy;
	expect(await later).toBe(home);
});

test("a strict session whose worker died is lost, for running, waiting and later calls, and never moves", async () => {
	const { pool, clock } = await virtualPool({ commands }, { size: 2 });
	const session = pool.session({ affinity: "strict" });
	await session.execute("whoami");
	const running = outcome(session.execute("crash"));
	const waiting = outcome(session.execute("whoami"));
	await clock.advance(1_000);
	expect(await running).toMatchObject({ code: "WORKER_EXITED", ran: "maybe" });
	expect(await waiting).toMatchObject({ code: "SESSION_LOST", ran: "no" });
	expect(await outcome(session.execute("whoami"))).toMatchObject({
		code: "SESSION_LOST",
		ran: "no",
	});
});

test("a session that was closed after its worker died says that it was closed", async () => {
	const { pool, clock, events } = await virtualPool({ commands });
	const session = pool.session({ affinity: "strict" });
	const running = outcome(session.execute("crash"));
	await clock.advance(1_000);
	expect(await running).toMatchObject({ code: "WORKER_EXITED" });
	session.close();
	expect(await outcome(session.execute("whoami"))).toMatchObject({
		code: "SESSION_CLOSED",
		ran: "no",
		error: { message: expect.stringContaining("it was closed") },
	});
	expect(events.of("session.ended")).toMatchObject([{ reason: "lost" }]);
});

test("an adapter that throws at the end of a session does not keep it from its end", async () => {
	const endSession = (): never => {
		throw new Error("on purpose");
	};
	const { pool, clock } = await virtualPoolOver(() => ({ endSession }), {
		commands,
	});
	const session = pool.session({ affinity: "strict" });
	await session.execute("whoami");
	const last = session.execute("work", 10);
	session.close();
	await clock.advanceUntil(last);
	expect(pool.statistics().sessions).toBe(0);
});

test("a hint session prefers its worker and takes another one when that is busy", async () => {
	const { pool, clock } = await virtualPool({ commands }, { size: 2 });
	const session = pool.session();
	const home = await session.execute("whoami");
	expect(await session.execute("whoami")).toBe(home);
	const busy = session.execute("work", 100);
	expect(await session.execute("whoami")).not.toBe(home);
	await clock.advance(100);
	await busy;
});

test("a hint session leaves a worker that is replaced, also one that a strict session still needs", async () => {
	const { pool, clock } = await virtualPool({ commands });
	const strict = pool.session({ affinity: "strict" });
	const hint = pool.session();
	const home = await strict.execute("whoami");
	expect(await hint.execute("whoami")).toBe(home);
	const recycled = pool.recycle("all");
	await clock.advance(100);
	expect(await hint.execute("whoami")).not.toBe(home);
	expect(await strict.execute("whoami")).toBe(home);
	strict.close();
	await clock.advanceUntil(recycled);
});

test("the worker is given the session's id, and an id is open once", async () => {
	const { pool } = await virtualPool({ commands });
	const session = pool.session({ id: "mine" });
	expect(await session.execute("session")).toBe("mine");
	expect(await pool.execute("session")).toBeUndefined();
	expect(() => pool.session({ id: "mine" })).toThrow(/open already/);
	session.close();
	pool.session({ id: "mine" });
	expect(await outcome(session.execute("session"))).toMatchObject({
		code: "SESSION_CLOSED",
		ran: "no",
	});
});

test("a session that is not used expires, one that is used does not", async () => {
	const { pool, clock, events } = await virtualPool(
		{ commands },
		{ sessions: { ttlMs: 1_000 } },
	);
	const [idle, used] = [
		pool.session({ id: "idle" }),
		pool.session({ id: "used" }),
	];
	for (let turn = 0; turn < 4; turn++) {
		await clock.advance(600);
		expect(await used.execute("session")).toBe("used");
	}
	expect(events.of("session.ended")).toMatchObject([
		{ sessionId: "idle", reason: "expired" },
	]);
	expect(await outcome(idle.execute("session"))).toMatchObject({
		code: "SESSION_CLOSED",
	});
});

test("one session more than the limit is refused", async () => {
	const { pool } = await virtualPool({ commands });
	for (let open = 0; open < 10_000; open++) pool.session();
	expect(() => pool.session()).toThrow(/10000 open sessions/);
});

test("calls of a strict session that came before it was bound are lost with its process, not forgotten", async () => {
	const { pool, clock } = await virtualPool(
		{ commands },
		{ size: { min: 0, max: 2 } },
	);
	const session = pool.session({ affinity: "strict" });
	const first = outcome(session.execute("crash"));
	const second = outcome(session.execute("whoami"));
	await clock.advance(5_000);
	expect(await first).toMatchObject({ code: "WORKER_EXITED" });
	expect(await second).toMatchObject({ code: "SESSION_LOST", ran: "no" });
	expect(pool.statistics().calls.waiting).toBe(0);
});

test("a session that is bound while the successor of its worker warms up keeps its process until it is closed", async () => {
	const { pool, clock, events } = await virtualPool(
		{
			commands,
			connect: async (worker) => {
				if (worker.number > 1) await worker.process.sleep(500);
			},
		},
		{ recycle: { afterCalls: 2 } },
	);
	await pool.execute("whoami");
	await pool.execute("whoami"); // Worn: the successor begins to warm up.
	const session = pool.session({ affinity: "strict" });
	const home = await session.execute("whoami");
	await clock.advance(5_000);
	expect(await session.execute("whoami")).toBe(home);
	expect(await pool.execute("whoami")).not.toBe(home);
	session.close();
	await clock.advance(5_000);
	expect(events.of("worker.retiring")).toMatchObject([
		{ incarnation: home, reason: "calls" },
	]);
});

test("a worker that is replaced leaves in the moment in which the last strict session on it is closed", async () => {
	const { pool, clock, events } = await virtualPool({ commands });
	const session = pool.session({ affinity: "strict" });
	const home = await session.execute("whoami");
	const recycled = pool.recycle("all");
	await clock.advance(100);
	expect(events.of("worker.retiring")).toEqual([]);
	session.close();
	expect(events.of("worker.retiring")).toMatchObject([{ incarnation: home }]);
	await clock.advanceUntil(recycled);
});

test("calls that wait when their strict session is closed run on its worker, also when that is replaced", async () => {
	const { pool, clock } = await virtualPool({ commands });
	const session = pool.session({ affinity: "strict" });
	const home = await session.execute("whoami");
	const calls = [session.execute("work", 20_000), session.execute("whoami")];
	session.close();
	const recycled = pool.recycle("all");
	await clock.advance(10_000);
	const [, later] = await clock.advanceUntil(Promise.all(calls));
	expect(later).toBe(home);
	await clock.advanceUntil(recycled);
});

test("calls that are outstanding when their session is closed keep its state to the end", async () => {
	const order: string[] = [];
	const endSession = (id: string): void => {
		const { waiting, running } = pool.statistics().calls;
		order.push(`ended ${id} with ${waiting + running} calls`);
	};
	const { pool, clock } = await virtualPoolOver(() => ({ endSession }), {
		commands,
	});
	const session = pool.session({ id: "mine" });
	const calls = [session.execute("work", 100), session.execute("work", 100)];
	await clock.advance(1);
	session.close();
	await clock.advance(300);
	await Promise.all(calls);
	expect(order).toEqual(["ended mine with 0 calls"]);
});

test("every worker that a session (hint) used forgets it when it is closed, also one that finishes other calls", async () => {
	const { pool, clock, adapter } = await virtualPool(
		{
			commands: {
				...commands,
				remember: ({ worker, sessionId = "" }: ScriptedCall) =>
					void worker.session(sessionId).set("key", 1),
				work: scripts.work,
			},
		},
		{ size: 2 },
	);
	const session = pool.session({ id: "s" });
	await session.execute("remember");
	const elsewhere = session.execute("work", 10);
	await session.execute("remember");
	await clock.advanceUntil(elsewhere);
	const used = adapter.workers.filter(({ sessions }) => sessions.has("s"));
	expect(used).toHaveLength(2);
	const busy = [1, 2].map(() => pool.execute("work", 10_000));
	const recycled = pool.recycle("scripted-0");
	await clock.advance(100);
	expect(pool.workers()[0]).toMatchObject({ state: "draining" });
	session.close();
	expect(used.map(({ sessions }) => sessions.has("s"))).toEqual([false, false]);
	await clock.advanceUntil(Promise.all([...busy, recycled]));
});

test("no worker is told of the end of a session that was lost with another", async () => {
	const told: string[] = [];
	const { pool, adapter, clock } = await virtualPoolOver(
		() => ({ endSession: (sessionId) => void told.push(sessionId) }),
		{ commands },
		{ size: 2 },
	);
	const [lost, kept] = ["lost", "kept"].map((id) =>
		pool.session({ id, affinity: "strict" }),
	);
	const home = await lost?.execute("whoami");
	await kept?.execute("whoami");
	adapter
		.living()
		.find(({ slot }) => slot.incarnation === home)
		?.crash();
	await clock.advance(1_000);
	lost?.close();
	expect(told).toEqual([]);
});
