import { expect } from "vitest";
import type { Adapter } from "../../src/contract/adapter.ts";
import type { World } from "../../src/contract/world.ts";
import { Gate } from "../../src/deadline.ts";
import type {
	PoolOptions,
	ResolvedOptions,
} from "../../src/options/pool-options.ts";
import { resolveOptions } from "../../src/options/resolve-pool-options.ts";
import type { FakeProcess } from "../../src/testing/fake-process.ts";
import {
	type ScriptedAdapter,
	scriptedAdapter,
} from "../../src/testing/scripted-adapter.ts";
import {
	type VirtualWorld,
	virtualWorld,
} from "../../src/testing/virtual-pool.ts";
import type { ScriptedAdapterOptions } from "../../src/testing.ts";
import { Worker, type WorkerEnding } from "../../src/worker/worker.ts";
import { WorkerStarter } from "../../src/worker/worker-starter.ts";

export type BenchOptions = Omit<PoolOptions, "adapter">;

/** What a worker reported to its listener, in order. */
export type ListenerCall = "offered" | "withdrawn" | "released";

/** Workers in a world in memory, without a pool around them. */
export interface WorkerBench extends VirtualWorld {
	readonly adapter: ScriptedAdapter;
	readonly options: ResolvedOptions;
	readonly reported: readonly ListenerCall[];
	readonly endings: readonly WorkerEnding[];
	/** A worker without a process yet. */
	addWorker(): Worker;
	/** Starts a worker, and says what came of it. Time has to pass in the meantime. */
	start(
		worker: Worker,
		attempt?: number,
		replaces?: string,
	): Promise<"ready" | Failure>;
	/** A worker that can take calls, and its process. */
	ready(): Promise<readonly [Worker, FakeProcess]>;
	/** What a start or a life leaves behind, in words; empty when nothing is. */
	leftovers(): readonly string[];
}

/** A start that failed. */
export interface Failure {
	readonly name: string;
	readonly code: unknown;
	readonly ran: unknown;
	readonly message: string;
	readonly cause: unknown;
}

export interface BenchSetting {
	/** How many workers may be starting at the same time; as many as of a pool by default. */
	readonly startsAtOnce?: number;
	/** Stands in for the scripted adapter, which it may wrap. */
	readonly wrap?: (adapter: ScriptedAdapter) => Adapter;
	/** Stands in for the world, which it may wrap. */
	readonly world?: (world: World) => World;
	readonly environment?: Readonly<Record<string, string | undefined>>;
	/** Called when a worker has room. */
	readonly onOffered?: (worker: Worker) => void;
	/** Called when a worker is gone. */
	readonly onReleased?: (worker: Worker) => void;
}

export function workerBench(
	script: ScriptedAdapterOptions = {},
	given: BenchOptions = {},
	setting: BenchSetting = {},
): WorkerBench {
	const adapter = scriptedAdapter(script);
	const virtual = virtualWorld({ adapters: [adapter] });
	const wrapped = setting.wrap?.(adapter) ?? adapter;
	const world = setting.world?.(virtual.world) ?? virtual.world;
	const { host, registry, clock } = virtual;
	const options = resolveOptions(
		{
			heartbeat: "off",
			output: { echo: "none" },
			size: 4,
			...given,
			adapter: wrapped,
		},
		2,
	);
	const starter = new WorkerStarter({
		adapter: wrapped,
		options,
		world,
		gate: new Gate(setting.startsAtOnce ?? options.start.concurrency),
		marker: "the-marker",
		environment: setting.environment ?? {},
	});
	const reported: ListenerCall[] = [];
	const endings: WorkerEnding[] = [];
	let added = 0;

	const addWorker = (): Worker => {
		const index = added++;
		const incarnation = registry.nextIncarnation();
		return new Worker(
			{
				pool: options.name,
				index,
				slots: options.size.max,
				workerId: `${options.name}-${index}`,
				incarnation,
				runId: registry.runId,
				directory: `/run/${incarnation}`,
				sharedDirectory: undefined,
				callsPerWorker: options.callsPerWorker,
				startTimeoutMs: options.start.timeoutMs,
			},
			options,
			world,
			{
				becameReady: () => {},
				capacityOffered: (worker) => {
					reported.push("offered");
					setting.onOffered?.(worker);
				},
				capacityWithdrawn: () => reported.push("withdrawn"),
				released: (worker, ending) => {
					reported.push("released");
					endings.push(ending);
					setting.onReleased?.(worker);
				},
			},
		);
	};
	const start: WorkerBench["start"] = (worker, attempt = 1, replaces) =>
		starter.start(worker, attempt, replaces).then(
			() => "ready" as const,
			(error) => error as Failure,
		);
	return {
		...virtual,
		adapter,
		options,
		reported,
		endings,
		addWorker,
		start,
		ready: async () => {
			const worker = addWorker();
			const outcome = await clock.advanceUntil(start(worker));
			if (outcome !== "ready") throw outcome;
			return [worker, host.started.at(-1) as FakeProcess];
		},
		leftovers: () => [
			...host.living().map((process) => `process ${process.pid}`),
			...registry.living().map(({ incarnation }) => `row of ${incarnation}`),
			...[...host.machine.paths].map((path) => `path ${path}`),
			...host.machine.lifelines().map((path) => `lifeline ${path}`),
		],
	};
}

/** Workers of the scripted adapter in a world that is set so. */
export function benchWith(setting: BenchSetting): WorkerBench {
	return workerBench({}, {}, setting);
}

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
