import { expect, test } from "vitest";
import { LedgerWatch } from "../../src/registry/ledger-watch.ts";
import { virtualWorld } from "../../src/testing.ts";

const reservation = {
	workerId: "p-0",
	pool: "p",
	fingerprint: "f",
	files: [],
};

test("a row whose process is gone without anybody telling is recorded as vanished, after two looks", async () => {
	const { world, clock, registry, host, events } = virtualWorld();
	const watch = new LedgerWatch(world);
	const incarnation = registry.nextIncarnation();
	registry.reserve({ ...reservation, incarnation });
	registry.activate(incarnation, { ...host.self, pid: 4_000_000 }, 4_000_000);
	await clock.advance(30_000);
	expect(registry.living()).toHaveLength(1);
	await clock.advance(30_000);
	expect(registry.living()).toHaveLength(0);
	expect(registry.lookup(incarnation)?.end).toMatchObject({
		reason: "vanished",
	});
	expect(events.of("registry.reconciled")).toMatchObject([
		{ vanished: 1, unwritten: 0 },
	]);
	watch.stop();
	expect(clock.pending()).toBe(0);
});

test("nothing is said while nothing is amiss", async () => {
	const { world, clock, events } = virtualWorld();
	const watch = new LedgerWatch(world);
	await clock.advance(300_000);
	expect(events.of("registry.reconciled")).toHaveLength(0);
	watch.stop();
});
