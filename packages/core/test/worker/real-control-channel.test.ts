import { afterEach, expect, test } from "vitest";
import { type RealBench, realBench } from "./real-bench.ts";

let bench: RealBench;
afterEach(() => bench.close());

/** Starts a program that cannot become ready, and waits until nothing of it is left. */
async function refusal(program: string): Promise<unknown> {
	const error = await bench
		.start(`${program}.cjs`, { launchPayload: "x" })
		.then(
			() => expect.unreachable(),
			(thrown: unknown) => thrown,
		);
	const { pid } = await bench.events.waitFor(
		"worker.exited",
		() => true,
		10_000,
	);
	expect(bench.world.host.members(pid ?? 0)).toEqual([]);
	expect(bench.world.registry.living()).toEqual([]);
	return error;
}

test("a launch message and a ready line may be cut into any pieces on their way", async () => {
	bench = await realBench();
	await bench.start("says-ready-in-pieces.cjs", {
		launchPayload: "é".repeat(30_000),
	});
	expect(bench.events.of("worker.ready")).toMatchObject([
		{ ready: { length: 30_000, name: "naïve 🐍" } },
	]);
});

test.each([
	["writes-noise-for-ready", "READY_LINE_INVALID", "\uFFFD"],
	["floods-its-control-channel", "READY_LINE_TOO_LONG", "65536 bytes"],
	[
		"closes-its-control-channel",
		"WORKER_EXITED_EARLY",
		"closed its control channel",
	],
	["never-ready", "START_TIMEOUT", "| still importing"],
])(
	"%s: its start fails as %s, and nothing of it is left",
	async (program, code, words) => {
		bench = await realBench({
			start: { timeoutMs: program === "never-ready" ? 3_000 : 30_000 },
		});
		expect(await refusal(program)).toMatchObject({
			name: "StartError",
			code,
			message: expect.stringContaining(words),
		});
	},
);

test("a worker that exits before it is ready explains itself with its last lines", async () => {
	bench = await realBench();
	expect(await refusal("exits-before-ready")).toMatchObject({
		code: "WORKER_EXITED_EARLY",
		message: expect.stringMatching(
			/exited with code 70 before it was ready\.\nIts last lines:\n {2}\| ModuleNotFoundError: No module named 'torch'/,
		),
	});
});
