import { afterEach, expect, test } from "vitest";
import { type RealBench, realBench } from "./real-bench.ts";

let bench: RealBench;
afterEach(() => bench.close());

test("a grandchild that holds a worker's output open does not delay its end, and is found by its marker", async () => {
	bench = await realBench();
	const { events, world, sweep } = bench;
	const worker = await bench.start("leaves-its-output-open.cjs");
	await events.waitFor("worker.output");
	process.kill(worker.pid ?? 0, "SIGUSR2");
	const { wallMs } = await events.waitFor(
		"worker.output",
		({ line }) => line === "farewell",
	);
	await worker.gone;
	const exited = events.of("worker.exited")[0];
	expect(exited).toMatchObject({
		exit: { kind: "code", code: 3 },
		reason: "exited",
		tail: ["it has a child", "farewell"],
	});
	expect((exited?.wallMs ?? 0) - wallMs).toBeLessThan(10_000);

	sweep.finish();
	const reaped = events.of("orphan.reaped");
	expect(reaped).toMatchObject([
		{ ofRun: world.registry.runId, how: "killed", foundBy: "marker" },
	]);
	await expect.poll(() => world.host.observe(reaped[0]?.pid ?? 0)).toBe("gone");
});
