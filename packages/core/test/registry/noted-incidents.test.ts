import { expect, test } from "vitest";
import type { EventOf } from "../../src/contract/events.ts";
import {
	ACTS_LIMIT,
	HOST_INCIDENTS_LIMIT,
	STANDSTILLS_LIMIT,
} from "../../src/registry/incidents.ts";
import { Bench } from "./sqlite-registry-bench.ts";

function unavailable(reason: string): EventOf<"protection.unavailable"> {
	return {
		...{ type: "protection.unavailable", wallMs: 1 },
		...{ protection: "guard", reason },
	};
}

test("what went wrong is in the file when the call returns, and no start reports it again", async () => {
	const { registry, read } = await Bench.open();
	registry.note(unavailable("no binary"));
	expect(read()).toMatchObject({ incidents: [unavailable("no binary")] });
	expect(registry.incidents).toEqual([unavailable("no binary")]);
	registry.note(unavailable("again"));
	expect(read()).toMatchObject({
		incidents: [unavailable("no binary"), unavailable("again")],
	});
});

test("of one run not more than 200 are recorded, and none after its end", async () => {
	const { registry, read } = await Bench.open();
	for (let n = 0; n < HOST_INCIDENTS_LIMIT + 50; n++)
		registry.note(unavailable(`${n}`));
	const { incidents } = read() as { readonly incidents: readonly unknown[] };
	expect(incidents).toHaveLength(HOST_INCIDENTS_LIMIT);
	const other = await Bench.open();
	other.registry.close();
	other.registry.note(unavailable("late"));
	expect(other.registry.incidents).toEqual([]);
});

test("of standstills not more than 50 are recorded, and what else goes wrong has room", async () => {
	const { registry, read } = await Bench.open();
	const still: EventOf<"host.stood_still"> = {
		...{ type: "host.stood_still", kind: "blocked", wallMs: 9_000 },
		...{ sinceWallMs: 5_000, durationMs: 4_000, processorMs: 3_900 },
	};
	for (let n = 0; n < HOST_INCIDENTS_LIMIT; n++) registry.note(still);
	registry.note(unavailable("no binary"));
	const { incidents } = read() as { readonly incidents: readonly unknown[] };
	expect(incidents).toHaveLength(STANDSTILLS_LIMIT + 1);
	expect(incidents).toContainEqual(still);
	expect(incidents).toContainEqual(unavailable("no binary"));
});

test("one that cannot be written is written with the next flush", async () => {
	const bench = await Bench.open();
	const { registry } = bench;
	bench.reserve();
	bench.lock();
	registry.note(unavailable("no binary"));
	expect(registry.statistics().unwritten).toBe(1);
	expect(bench.of("registry.degraded")).toHaveLength(1);
	bench.unlock();
	expect(registry.flush()).toBe(0);
	expect(bench.read()).toMatchObject({
		incidents: [unavailable("no binary")],
	});
});

test("a file that was damaged has them again", async () => {
	const bench = await Bench.open();
	bench.reserve();
	bench.registry.note(unavailable("no binary"));
	bench.damage();
	bench.reserve();
	expect(bench.read()).toMatchObject({
		workers: [{}, {}],
		incidents: [unavailable("no binary")],
	});
});

const paused = (wallMs: number): EventOf<"pool.paused"> => ({
	...{ type: "pool.paused", wallMs, pool: "p", by: "ann" },
	...{ waiting: 0, running: 0 },
});

test("of what was asked for the last 200 are recorded", async () => {
	const { registry, read } = await Bench.open();
	const all = Array.from({ length: ACTS_LIMIT + 7 }, (_, n) => paused(n));
	for (const act of all) registry.note(act);
	expect(registry.acts).toEqual(all.slice(-ACTS_LIMIT));
	expect(read()).toMatchObject({ acts: all.slice(-ACTS_LIMIT), incidents: [] });
});

test("what was asked for is in a file that was damaged again", async () => {
	const bench = await Bench.open();
	bench.reserve();
	bench.registry.note(paused(1));
	bench.damage();
	bench.reserve();
	expect(bench.read()).toMatchObject({ acts: [paused(1)] });
});

test("without content, the ledger keeps the class, the code and the place of an error, and not its message", async () => {
	const { registry, read } = await Bench.open({ content: "left_out" });
	const error = { name: "E", code: "C", message: "card 17", at: "f (/a:1:2)" };
	const worker = { incarnation: "aaaaaaa-9", workerId: "p-0", pool: "p" };
	registry.failStart(worker, error);
	registry.failOpening(error);
	const shown = { name: "E", code: "C", at: "f (/a:1:2)" };
	expect(read()).toMatchObject({
		workers: [{ status: "ended", startError: shown }],
		incidents: [{ type: "run.open_failed", error: shown }],
	});
	expect(JSON.stringify(read())).not.toContain("card 17");
});
