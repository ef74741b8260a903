import { expect, test } from "vitest";
import {
	HOST_INCIDENTS_LIMIT,
	type HostIncident,
} from "../../src/registry/incidents.ts";
import { Bench } from "./sqlite-registry-bench.ts";

function unavailable(reason: string): HostIncident {
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
