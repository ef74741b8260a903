import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
	type CompanionKeeper,
	companionKeeper,
} from "../companion/companion-keeper.ts";
import type { Adapter } from "../contract/adapter.ts";
import type { Protection } from "../contract/protection.ts";
import { resolveOptions } from "../options/resolve-pool-options.ts";
import {
	type PreloadedSource,
	preloadedSource,
} from "../preload/preloaded-source.ts";
import type { RunOptions } from "../run/run-options.ts";
import type { ContractWorker } from "./adapter-contract.ts";
import { EventRecorder } from "./event-recorder.ts";
import { type StartWorkerOptions, startWorker } from "./start-worker.ts";

/** What can be set for a real start. */
export type RealStartOptions = Omit<
	StartWorkerOptions,
	"world" | "directory"
> & {
	/** As a run has it. */
	readonly guard?: RunOptions["guard"];
	/** As a run has them. Default: none. */
	readonly protections?: readonly Protection[] | undefined;
};

const NEVER = new AbortController().signal;

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
	const { openRun } = await import("../run/open-run.ts");
	const run = await openRun({
		dataDir,
		guard: options.guard,
		protections: options.protections,
		onEvent: events.record,
	});
	const { infrastructure } = run;
	let preloaded: PreloadedSource | undefined;
	let companion: CompanionKeeper | undefined;
	const cleanUp = async (): Promise<void> => {
		await preloaded?.release();
		await companion?.release("gentle");
		await run.close();
		await rm(dataDir, { recursive: true, force: true });
	};
	try {
		const { clock, host, registry, random, source } = infrastructure;
		const { marker, runDirectory, sharedDirectory } = infrastructure;
		const emit = events.record;
		const cold = { clock, host, source, registry, random, emit };
		const beside = {
			options: resolveOptions(
				{
					...{ adapter, size: 1, output: { echo: "none" } },
					start: options.start,
				},
				1,
			),
			world: cold,
			runDirectory,
			marker,
			environment: options.environment ?? process.env,
		};
		preloaded = preloadedSource(adapter, beside);
		companion = companionKeeper(adapter, beside, []);
		if (companion !== undefined) await adapter.prepare?.(NEVER);
		await companion?.open(() => {});
		const world = { ...cold, source: preloaded ?? source };
		const worker = await startWorker(adapter, {
			...options,
			world,
			directory: runDirectory,
			sharedDirectory,
			companions: companion,
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
