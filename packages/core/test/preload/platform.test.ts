import { expect, test } from "vitest";
import type { ProcessSource } from "../../src/contract/world.ts";
import { resolveOptions } from "../../src/options/resolve-pool-options.ts";
import { preloadedSource } from "../../src/preload/preloaded-source.ts";
import { FakeProcessHost } from "../../src/testing/fake-process-host.ts";
import { scriptedAdapter } from "../../src/testing/scripted-adapter.ts";
import { virtualWorld } from "../../src/testing/virtual-pool.ts";

test("where a fork is unsafe by the platform no parent is started: workers start by themselves, and it is reported", async () => {
	const { world, clock, events, host } = virtualWorld();
	const adapter = Object.assign(scriptedAdapter({ commands: {} }), {
		preload: () => ({ executable: "python" }),
	});
	const asked: unknown[] = [];
	const source: ProcessSource = {
		...host.source,
		start: async (spec) => {
			asked.push(spec);
			throw new Error("by itself");
		},
	};
	const mac = new FakeProcessHost({ clock, platform: "darwin" });
	const preloaded = preloadedSource(adapter, {
		options: resolveOptions({ adapter }, 2),
		world: { ...world, host: mac, source },
		runDirectory: "/virtual",
		marker: "virtual",
		environment: {},
	});
	const spec = { command: "python" } as unknown as Parameters<
		ProcessSource["start"]
	>[0];
	await expect(preloaded?.start(spec, () => {})).rejects.toThrow("by itself");
	expect(asked).toEqual([spec]);
	expect(events.of("preload.unavailable")).toMatchObject([
		{ code: "FORK_UNSAFE_PLATFORM", reason: expect.stringContaining("darwin") },
	]);
});

test("where an adapter has no parent for a pool, its workers start by themselves, and nothing is reported", async () => {
	const { world, events } = virtualWorld();
	const adapter = Object.assign(scriptedAdapter({ commands: {} }), {
		preload: () => undefined,
	});
	const source: ProcessSource = {
		...world.source,
		start: () => Promise.reject(new Error("by itself")),
	};
	const preloaded = preloadedSource(adapter, {
		options: resolveOptions({ adapter }, 2),
		world: { ...world, source },
		runDirectory: "/virtual",
		marker: "virtual",
		environment: {},
	});
	const spec = { command: "python" } as unknown as Parameters<
		ProcessSource["start"]
	>[0];
	for (const _start of ["first", "second"])
		await expect(preloaded?.start(spec, () => {})).rejects.toThrow("by itself");
	expect(events.of("preload.unavailable")).toEqual([]);
});
