import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { LaunchSpec } from "../../src/contract/launch.ts";
import type { ScriptedAdapterOptions } from "../../src/testing.ts";
import { type RealBench, realBench } from "./real-bench.ts";
import { workerBench } from "./worker-bench.ts";

/** A world with a native binary, and one worker that was started there. */
async function started(
	launch: Partial<LaunchSpec>,
	script: ScriptedAdapterOptions = {},
) {
	const bench = workerBench({ ...script, launch });
	bench.host.binary = "/native";
	const [worker, process] = await bench.ready();
	return { bench, worker, process };
}

test("a program that does not know its host is launched by the native binary, at a lifeline of its own", async () => {
	const { bench, worker, process } = await started({});
	const lifeline = join(worker.slot.directory, "l");
	expect(process.spec).toMatchObject({
		executable: "scripted-program",
		launcher: { binary: "/native", lifeline },
		control: false,
	});
	expect(process.control).toBeUndefined();
	expect(bench.host.machine.lifelines()).toEqual([lifeline]);
});

test("its lifeline is closed with its worker", async () => {
	const { bench, worker } = await started({});
	worker.condemn("closed", "the test is over");
	await bench.clock.advanceUntil(worker.gone);
	expect(bench.host.machine.lifelines()).toEqual([]);
});

test("with its lifeline off it is not launched", async () => {
	const { bench, process } = await started({ lifeline: "off" });
	expect(process.spec.launcher).toBeUndefined();
	expect(bench.host.machine.lifelines()).toEqual([]);
});

test.each(["auto", "off"] as const)(
	"a program that uses the control channel connects by itself, also with its lifeline %s",
	async (lifeline) => {
		const { bench, process } = await started(
			{ lifeline },
			{ launchPayload: {} },
		);
		expect(process.spec.launcher).toBeUndefined();
		expect(bench.host.machine.lifelines()).toHaveLength(1);
	},
);

describe("a real program that cannot be executed", () => {
	let bench: RealBench;
	afterEach(() => bench.close());

	test("fails its start as any program that the system cannot start", async () => {
		bench = await realBench();
		const failures = await Promise.all(
			(["auto", "off"] as const).map((lifeline) =>
				bench
					.start("none", { executable: "no-such-program", lifeline })
					.catch((error) => error),
			),
		);
		for (const failure of failures)
			expect(failure).toMatchObject({
				name: "StartError",
				code: "SPAWN_FAILED",
				message: expect.stringMatching(
					/^Cannot start no-such-program: spawn no-such-program ENOENT. Install it/,
				),
			});
	});
});
