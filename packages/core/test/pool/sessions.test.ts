import { expect, test } from "vitest";
import { scripts } from "../../src/testing.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

const commands = {
	whoami: scripts.whoami,
	work: scripts.work,
	crash: scripts.crash,
	session: async ({ sessionId }: { sessionId: string | undefined }) =>
		sessionId,
};

test("a strict session stays with the process of its first call, also when that is busy", async () => {
	const { pool, clock, close } = await virtualPool({ commands }, { size: 3 });
	const session = pool.session({ affinity: "strict" });
	const home = await session.execute("whoami");
	const busy = session.execute("work", 100);
	const later = session.execute("whoami");
	expect(await pool.execute("whoami")).not.toBe(home);
	await clock.advance(100);
	await busy;
	expect(await later).toBe(home);
	await close();
});

test("a strict session whose worker died is lost, for running, waiting and later calls, and never moves", async () => {
	const { pool, clock, close, events } = await virtualPool(
		{ commands },
		{ size: 2 },
	);
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
	await close();
	events.assertPaired();
});

test("a hint session prefers its worker and takes another one when that is busy", async () => {
	const { pool, clock, close } = await virtualPool({ commands }, { size: 2 });
	const session = pool.session();
	const home = await session.execute("whoami");
	expect(await session.execute("whoami")).toBe(home);
	const busy = session.execute("work", 100);
	expect(await session.execute("whoami")).not.toBe(home);
	await clock.advance(100);
	await busy;
	await close();
});

test("the worker is told the session's id, and an id is open once", async () => {
	const { pool, close } = await virtualPool({ commands });
	const session = pool.session({ id: "mine" });
	expect(await session.execute("session")).toBe("mine");
	expect(await pool.execute("session")).toBeUndefined();
	expect(() => pool.session({ id: "mine" })).toThrow(/open already/);
	session.close();
	pool.session({ id: "mine" });
	expect(await outcome(session.execute("session"))).toMatchObject({
		kind: "error",
		ran: "no",
	});
	await close();
});

test("a session that is not used expires, one that is used does not", async () => {
	const { pool, clock, close, events } = await virtualPool(
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
		kind: "error",
	});
	await close();
	events.assertPaired();
});

test("one session more than the limit is refused", async () => {
	const { pool, close } = await virtualPool(
		{ commands },
		{ sessions: { limit: 2 } },
	);
	pool.session();
	pool.session();
	expect(() => pool.session()).toThrow(/sessions.limit/);
	await close();
});
