import { describe, expect, test } from "vitest";
import { failedStart } from "./failed-start.ts";
import { workerBench } from "./worker-bench.ts";

const speaksControl = { launchPayload: {} };

describe("a program that hangs before it is ready", () => {
	const asks = { launch: { dumpSignal: "SIGUSR1" } } as const;

	test("is asked for its stacks where it handles the signal, and its error has all of them", async () => {
		const frames = Array.from({ length: 100 }, (_, n) => `frame ${n}`);
		const bench = workerBench({
			...speaksControl,
			...asks,
			boot: async (process) => {
				process.write("last output", "stderr");
				process.on("SIGUSR1", () => {
					for (const frame of frames) process.write(frame, "stderr");
				});
				await process.idle();
			},
		});
		const { code, message } = await failedStart(bench);
		expect(code).toBe("START_TIMEOUT");
		expect(message.split("\n").slice(2)).toEqual(
			["last output", ...frames].map((line) => `  | ${line}`),
		);
		expect(bench.host.started[0]?.received).toEqual(["SIGUSR1", "SIGKILL"]);
		expect(bench.clock.now()).toBe(60_250);
		expect(bench.events.of("worker.exited")).toMatchObject([
			{ reason: "start_failed", killer: "stop_ladder" },
		]);
		expect(bench.leftovers()).toEqual([]);
	});

	test("is not sent the signal where it does not handle it", async () => {
		const bench = workerBench({
			...speaksControl,
			...asks,
			boot: (process) => process.idle(),
		});
		expect(await failedStart(bench)).toMatchObject({ code: "START_TIMEOUT" });
		expect(bench.host.started[0]?.received).toEqual(["SIGKILL"]);
		expect(bench.clock.now()).toBe(60_000);
	});

	test("is ended at once by a caller that cannot wait for its stacks", async () => {
		const bench = workerBench({
			...speaksControl,
			...asks,
			boot: async (process) => {
				await process.ignore("SIGUSR1").idle();
			},
		});
		const worker = bench.addWorker();
		const started = bench.start(worker);
		await bench.clock.advance(60_100);
		expect(bench.host.started[0]?.received).toEqual(["SIGUSR1"]);
		worker.condemn("closed", "its pool closes");
		expect(await bench.clock.advanceUntil(started)).toMatchObject({
			code: "START_WITHDRAWN",
		});
		expect(bench.clock.now()).toBe(60_100);
	});
});
