import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
	type CompanionKeeper,
	companionKeeper,
} from "../companion/companion.ts";
import type { Adapter } from "../contract/adapter.ts";
import type { Connection } from "../contract/connection.ts";
import { formatMarker, markerOf } from "../contract/identity.ts";
import type { WorkerProcess } from "../contract/launch.ts";
import type { Protection } from "../contract/protection.ts";
import type { World } from "../contract/world.ts";
import { Gate } from "../deadline.ts";
import type { PoolOptions } from "../options/pool-options.ts";
import { resolveOptions } from "../options/resolve-pool-options.ts";
import {
	type PreloadedSource,
	preloadedSource,
} from "../preload/preloaded-source.ts";
import type { RunOptions } from "../run/run-options.ts";
import type { Companions } from "../worker/companion-loss.ts";
import { Worker } from "../worker/worker.ts";
import { WorkerStarter } from "../worker/worker-starter.ts";
import type { ContractWorker } from "./adapter-contract.ts";
import { EventRecorder } from "./event-recorder.ts";

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

export interface StartWorkerOptions {
	readonly world: World;
	/** An existing directory of this user's own; the worker gets one inside it. Keep it short: a socket's path has a limit. */
	readonly directory: string;
	/** The like in shared memory; the worker gets one inside it. Default: as where there is none. */
	readonly sharedDirectory?: string | undefined;
	readonly callsPerWorker?: number | undefined;
	readonly start?: PoolOptions["start"] | undefined;
	readonly stop?: PoolOptions["stop"] | undefined;
	/** What keeps the companion of its adapter running, where that has one. */
	readonly companions?: Companions | undefined;
	/** The environment that the worker inherits. Default: that of this process. */
	readonly environment?:
		| Readonly<Record<string, string | undefined>>
		| undefined;
}

/**
 * Starts one worker exactly as a pool does, without a pool around it: reserved,
 * recorded, connected, and replaced by nothing.
 *
 * @throws StartError as `createPool` does.
 */
export async function startWorker(
	adapter: Adapter,
	options: StartWorkerOptions,
): Promise<ContractWorker> {
	const { world } = options;
	const brokenBy: Error[] = [];
	let isLeaving = false;
	let connected:
		| { readonly connection: Connection; readonly process: WorkerProcess }
		| undefined;
	const observed: Adapter = {
		name: adapter.name,
		launch: (slot, signal) => adapter.launch(slot, signal),
		connect: async (process, signal) => {
			const watched: WorkerProcess = {
				...process,
				log: (record) => process.log(record),
				broken: (error) => {
					// As in a pool: a program closes its output before it exits.
					if (isLeaving) return;
					brokenBy.push(error);
					process.broken(error);
				},
			};
			const connection = await adapter.connect(watched, signal);
			connected = { connection, process: watched };
			// The worker does not know of the calls of a test: in a pool, it hangs up after their answers were read.
			return Object.create(connection, {
				[Symbol.asyncDispose]: {
					value: async () => {
						await process.exited;
						await connection[Symbol.asyncDispose]();
					},
				},
			});
		},
	};
	await adapter.prepare?.(new AbortController().signal);
	const resolved = resolveOptions(
		{
			adapter: observed,
			size: 1,
			callsPerWorker: options.callsPerWorker ?? 1,
			heartbeat: "off",
			output: { echo: "none" },
			...(options.start && { start: options.start }),
			...(options.stop && { stop: options.stop }),
		},
		1,
	);
	const incarnation = world.registry.nextIncarnation();
	const name = incarnation.slice(incarnation.lastIndexOf("-") + 1);
	const worker = new Worker(
		{
			pool: resolved.name,
			index: 0,
			slots: 1,
			workerId: `${resolved.name}-0`,
			incarnation,
			runId: world.registry.runId,
			directory: join(options.directory, name),
			sharedDirectory:
				options.sharedDirectory === undefined
					? undefined
					: join(options.sharedDirectory, name),
			callsPerWorker: resolved.callsPerWorker,
			startTimeoutMs: resolved.start.timeoutMs,
		},
		resolved,
		world,
		{
			becameReady: () => undefined,
			capacityOffered: () => undefined,
			capacityWithdrawn: () => undefined,
			released: () => undefined,
		},
	);
	const starter = new WorkerStarter({
		adapter: observed,
		options: resolved,
		world,
		gate: new Gate(1),
		marker: formatMarker(
			markerOf(world.registry.runId, world.host.self, "virtual"),
		),
		environment: options.environment ?? process.env,
		companions: options.companions,
	});
	try {
		await starter.start(worker, 1, undefined);
	} catch (error) {
		if (worker.pid === undefined) worker.neverSpawned();
		// What could not be started is condemned, and gone before its directory is.
		await worker.gone;
		throw error;
	}
	if (!connected)
		throw new TypeError(`${adapter.name} became ready without a connection.`);
	return {
		...connected,
		brokenBy,
		leave: (signal) => {
			isLeaving = true;
			return connected?.connection.leave?.(signal) ?? Promise.resolve();
		},
		kill: () => worker.killNow(),
		stop: async () => {
			worker.retire("closed");
			await worker.gone;
		},
	};
}
