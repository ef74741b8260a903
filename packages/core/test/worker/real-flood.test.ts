import { afterEach, expect, test } from "vitest";
import { heldBytes } from "../../../../scripts/held-bytes.ts";
import { type RealBench, realBench } from "./real-bench.ts";

const MB = 2 ** 20;

let bench: RealBench;
afterEach(() => bench.close());

test("a worker that prints 50 MB without a line break costs its host one line of memory", async () => {
	bench = await realBench();
	const before = heldBytes();
	const worker = await bench.start("floods-stdout.cjs");
	await bench.events.waitFor(
		"worker.output",
		({ line }) => line === "flooded",
		20_000,
	);
	expect(heldBytes() - before).toBeLessThan(8 * MB);
	const lines = bench.events.of("worker.output");
	expect(
		lines.map(({ stream, cut, line }) => [stream, cut, line.length]),
	).toEqual([
		["stdout", true, 16_384],
		["stderr", false, "flooded".length],
	]);
	expect(worker.state).toBe("ready");
});

test("the end of a worker that prints without end is seen in time", async () => {
	bench = await realBench();
	const worker = await bench.start("floods-without-end.cjs");
	await bench.events.waitFor("worker.output", () => true, 20_000);
	const begunMs = performance.now();
	worker.condemn("stuck", "it does nothing else");
	await worker.gone;
	expect(performance.now() - begunMs).toBeLessThan(10_000);
	expect(bench.events.of("worker.exited")).toMatchObject([
		{ exit: { kind: "signal", signal: "SIGKILL" }, killer: "stop_ladder" },
	]);
	expect(bench.world.host.members(worker.groupId ?? 0)).toEqual([]);
});
