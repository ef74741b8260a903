import { expect } from "vitest";
import type { Failure, WorkerBench } from "./worker-bench.ts";

/** Starts one worker, which fails, and waits until that is over. */
export async function failedStart(bench: WorkerBench): Promise<Failure> {
	const worker = bench.addWorker();
	const outcome = await bench.clock.advanceUntil(bench.start(worker));
	if (outcome === "ready") return expect.unreachable();
	if (worker.pid === undefined) worker.neverSpawned();
	await bench.clock.advanceUntil(worker.gone);
	expect(worker.state).toBe("exited");
	return outcome;
}
