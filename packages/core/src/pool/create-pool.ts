import { availableParallelism } from "node:os";
import type { PoolOptions } from "../options.ts";
import { preloadedSource } from "../preload/preloaded-source.ts";
import { resolveOptions } from "../resolve-options.ts";
import { acquireRun, runClock } from "../run/acquire-run.ts";
import { applicationCleanup } from "../run/application-cleanup.ts";
import { StartGate } from "../worker/start-gate.ts";
import { WorkerStarter } from "../worker/worker-starter.ts";
import type { World } from "../world.ts";
import { DISPATCHES_AT_ONCE } from "./dispatch-pace.ts";
import { EventHub } from "./event-hub.ts";
import { Instrumentation } from "./instrumentation.ts";
import { Pool } from "./pool.ts";
import { poolNames } from "./pool-names.ts";
import type { ToolMap, UntypedTools } from "./tools.ts";

/**
 * Makes a pool and starts its workers: cleans up after dead runs first, and
 * resolves when the minimum of workers can take calls.
 *
 * @throws OptionsError before anything is started; RegistryError when the ledger cannot be used; StartError when a
 *   worker could not be started, after everything was ended again.
 */
export async function createPool<Tools extends ToolMap = UntypedTools>(
	given: PoolOptions,
): Promise<Pool<Tools>> {
	const options = resolveOptions(given, availableParallelism(), (name) =>
		poolNames.free(name),
	);
	const giveNameBack = poolNames.take(options.name);
	const hub = new EventHub();
	if (options.onEvent !== undefined) hub.subscribe(options.onEvent);
	const instrumentation = Instrumentation.attach(options, hub, runClock.wall);

	const run = await acquireRun({
		dataDir: options.dataDir,
		strategy: options.cleanupStrategy,
		protections: options.protections,
		audit: options.audit,
		history: options.history,
		emit: hub.emit,
	}).catch((error: unknown) => {
		instrumentation?.detach();
		giveNameBack();
		throw error;
	});
	const { clock, host, registry, random } = run;
	const inherited = { marker: run.marker, environment: process.env };
	const cold: World = {
		clock,
		host,
		source: run.source,
		registry,
		random,
		emit: hub.emit,
	};
	const preloaded = preloadedSource({
		adapter: options.adapter,
		options,
		world: cold,
		runDirectory: run.runDirectory,
		...inherited,
	});
	const world: World = { ...cold, source: preloaded ?? run.source };
	const pool = new Pool<Tools>({
		options,
		world,
		hub,
		instrumentation,
		dispatchesAtOnce: DISPATCHES_AT_ONCE,
		runDirectories: {
			directory: run.runDirectory,
			shared: run.sharedDirectory,
		},
		cleanupReport: run.report,
		audit: () => run.audit(),
		starter: new WorkerStarter({
			adapter: options.adapter,
			options,
			world,
			gate: new StartGate(options.start.concurrency),
			...inherited,
		}),
		release: async () => {
			await preloaded?.release();
			unregister();
			await run.release();
			instrumentation?.detach();
			giveNameBack();
		},
	});
	const unregister = applicationCleanup.register({
		signalWish: {
			onSignal: options.stop.onSignal,
			graceMs: options.stop.signalGraceMs,
		},
		flush: async () => instrumentation?.flush(),
		close: (graceMs, afterwards) => pool.endWithProgram(graceMs, afterwards),
		killNow: () => {
			pool.killNow();
			preloaded?.killNow();
		},
	});
	instrumentation?.watch(pool.observed());
	await pool.open();
	return pool;
}
