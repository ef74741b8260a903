import { expect, test } from "vitest";
import {
	type Session,
	SessionTable,
} from "../../src/pool/placement/session-table.ts";
import { virtualWorld } from "../../src/testing/virtual-pool.ts";

function scene() {
	const { clock, events } = virtualWorld();
	const ended: string[] = [];
	const table = new SessionTable(
		...(["p", clock, 1_000, events.record] as const),
		({ id }) => void ended.push(id),
	);
	return { clock, table, ended };
}

test("a call looks at no more than one session that is not its own, however many are open", () => {
	const { table } = scene();
	let looks = 0;
	const watched = (session: Session): void => {
		const { lastUsedMs } = session;
		Object.defineProperty(session, "lastUsedMs", {
			get: () => {
				looks++;
				return lastUsedMs;
			},
		});
	};
	for (let n = 0; n < 100; n++) watched(table.open(`idle-${n}`, "strict"));
	const own = table.open("own", "strict");
	looks = 0;
	for (let call = 0; call < 10; call++) {
		table.use(own);
		table.done(own);
	}
	expect(looks).toBeLessThanOrEqual(10);
});

test("whether a process is needed is known without a look at other sessions", () => {
	const { table } = scene();
	let looks = 0;
	const bound = (id: string, incarnation: string): Session => {
		const session = table.open(id, "strict");
		table.bind(session, incarnation);
		Object.defineProperty(session, "affinity", {
			get: () => {
				looks++;
				return "strict";
			},
		});
		return session;
	};
	for (let n = 0; n < 100; n++) bound(`other-${n}`, "other");
	const own = bound("own", "mine");
	looks = 0;
	expect([table.needs("mine"), table.needs("nobody's")]).toEqual([true, false]);
	expect(looks).toBe(0);
	table.use(own);
	table.end(own, "closed");
	expect(table.needs("mine")).toBe(true);
	table.done(own);
	expect(table.needs("mine")).toBe(false);
});

test("those expire that were not used for the time, in whatever order they were opened and used", async () => {
	const { table, clock, ended } = scene();
	const [used, busy] = ["used", "busy", "idle"].map((id) =>
		table.open(id, "hint"),
	);
	if (used === undefined || busy === undefined) return expect.unreachable();
	table.use(busy);
	await clock.advance(600);
	table.use(used);
	table.done(used);
	await clock.advance(600);
	expect(() => table.use(used)).not.toThrow();
	expect(ended).toEqual(["idle"]);
	table.done(used);
	table.done(busy);
	await clock.advance(1_100);
	expect(() => table.use(used)).toThrow("sessions.ttlMs");
	expect(ended.sort()).toEqual(["busy", "idle", "used"]);
	expect(table.size).toBe(0);
});
