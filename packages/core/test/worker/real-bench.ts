import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Adapter } from "../../src/contract/adapter.ts";
import type { LaunchSpec } from "../../src/contract/launch.ts";
import type { World } from "../../src/contract/world.ts";
import { Gate } from "../../src/deadline.ts";
import type { PoolOptions } from "../../src/options/pool-options.ts";
import { resolveOptions } from "../../src/options/resolve-pool-options.ts";
import { OrphanSweep } from "../../src/process/orphan-sweep.ts";
import { openRun } from "../../src/run/open-run.ts";
import { EventRecorder } from "../../src/testing.ts";
import { Worker } from "../../src/worker/worker.ts";
import { WorkerStarter } from "../../src/worker/worker-starter.ts";

/** Workers that are real processes, without a pool around them. */
export interface RealBench {
	readonly world: World;
	readonly events: EventRecorder;
	/** Kills what dead workers left outside their groups. */
	readonly sweep: OrphanSweep;
	/** Starts a program of the bestiary, and resolves when it is ready. */
	start(program: string, launch?: Partial<LaunchSpec>): Promise<Worker>;
	/** Ends what lives still, and removes the ledger. */
	close(): Promise<void>;
}

export async function realBench(
	given: Omit<PoolOptions, "adapter"> = {},
): Promise<RealBench> {
	const dataDir = await mkdtemp(join(tmpdir(), "snakepit-worker-"));
	const events = new EventRecorder();
	const emit = events.record;
	const run = await openRun({ dataDir, onEvent: emit });
	const { clock, host, source, registry, random, runDirectory, marker } =
		run.infrastructure;
	const world: World = { clock, host, source, registry, random, emit };
	const sweep = new OrphanSweep(world);
	const workers: Worker[] = [];

	const start = async (
		program: string,
		launch: Partial<LaunchSpec> = {},
	): Promise<Worker> => {
		const path = fileURLToPath(
			new URL(`../bestiary/${program}`, import.meta.url),
		);
		const adapter: Adapter = {
			name: "bestiary",
			launch: () => ({
				executable: path.endsWith(".cjs") ? process.execPath : path,
				args: path.endsWith(".cjs") ? [path] : [],
				...launch,
			}),
			connect: async () => ({
				execute: async () => undefined,
				[Symbol.asyncDispose]: async () => undefined,
			}),
		};
		const options = resolveOptions(
			{ output: { echo: "none" }, heartbeat: "off", ...given, adapter },
			2,
		);
		const incarnation = registry.nextIncarnation();
		const worker = new Worker(
			{
				pool: "real",
				index: workers.length,
				slots: 4,
				workerId: `real-${workers.length}`,
				incarnation,
				runId: registry.runId,
				directory: join(runDirectory, String(workers.length)),
				sharedDirectory: undefined,
				callsPerWorker: 1,
				startTimeoutMs: options.start.timeoutMs,
			},
			options,
			world,
			{
				becameReady: () => undefined,
				capacityOffered: () => undefined,
				capacityWithdrawn: () => undefined,
				released: () => sweep.noteEnded(incarnation),
			},
		);
		workers.push(worker);
		const starter = new WorkerStarter({
			adapter,
			options,
			world,
			gate: new Gate(1),
			marker,
			environment: process.env,
		});
		await starter.start(worker, 1, undefined);
		return worker;
	};
	return {
		world,
		events,
		sweep,
		start,
		close: async () => {
			for (const worker of workers)
				worker.condemn("closed", "the test is over");
			const living = workers.filter(({ pid }) => pid !== undefined);
			await Promise.all(living.map(({ gone }) => gone));
			sweep.finish();
			await run.close();
			await rm(dataDir, { recursive: true, force: true });
		},
	};
}
