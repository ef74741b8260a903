import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Adapter } from "../adapter.ts";
import {
	type PreloadedSource,
	preloadedSource,
} from "../preload/preloaded-source.ts";
import type { Protection } from "../protection.ts";
import { resolveOptions } from "../resolve-options.ts";
import type { ContractWorker } from "./adapter-contract.ts";
import { EventRecorder } from "./event-recorder.ts";
import { type StartWorkerOptions, startWorker } from "./start-worker.ts";

/** What can be said about a real start. */
export type RealStartOptions = Omit<
	StartWorkerOptions,
	"world" | "directory"
> & {
	/** As a pool has them. Default: none. */
	readonly protections?: readonly Protection[] | undefined;
};

/**
 * Starts one real process of an adapter exactly as a pool does, with a ledger
 * of its own in a temporary directory. `stop` ends it and removes the directory.
 *
 * @throws StartError as `createPool` does.
 */
export async function startForReal(
	adapter: Adapter,
	options: RealStartOptions = {},
): Promise<ContractWorker> {
	const dataDir = await mkdtemp(join(tmpdir(), "snakepit-test-"));
	const events = new EventRecorder();
	// Loaded here, so that worlds in memory do without the ledger's native module.
	const { acquireRun } = await import("../run/acquire-run.ts");
	const run = await acquireRun({
		dataDir,
		strategy: undefined,
		...(options.protections && { protections: options.protections }),
		emit: events.record,
	});
	let preloaded: PreloadedSource | undefined;
	const cleanUp = async (): Promise<void> => {
		await preloaded?.release();
		await run.release();
		await rm(dataDir, { recursive: true, force: true });
	};
	try {
		const { clock, host, registry, random } = run;
		const emit = events.record;
		const cold = { clock, host, source: run.source, registry, random, emit };
		preloaded = preloadedSource({
			adapter,
			options: resolveOptions(
				{ adapter, size: 1, output: { echo: "none" } },
				1,
			),
			world: cold,
			runDirectory: run.runDirectory,
			marker: run.marker,
			environment: options.environment ?? process.env,
		});
		const world = { ...cold, source: preloaded ?? run.source };
		const worker = await startWorker(adapter, {
			...options,
			world,
			directory: run.runDirectory,
			sharedDirectory: run.sharedDirectory,
		});
		return {
			...worker,
			stop: async () => {
				await worker.stop();
				await cleanUp();
			},
		};
	} catch (error) {
		await cleanUp();
		throw error;
	}
}
