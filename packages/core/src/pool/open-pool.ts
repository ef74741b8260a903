import type { ResolvedOptions } from "../options.ts";
import { preloadedSource } from "../preload/preloaded-source.ts";
import { acquireRun, runClock } from "../run/acquire-run.ts";
import { applicationCleanup } from "../run/application-cleanup.ts";
import { StartGate } from "../worker/start-gate.ts";
import { WorkerStarter } from "../worker/worker-starter.ts";
import type { World } from "../world.ts";
import { DISPATCHES_AT_ONCE } from "./dispatch-pace.ts";
import { EventHub } from "./event-hub.ts";
import { Instrumentation } from "./instrumentation.ts";
import { Pool } from "./pool.ts";
import type { ToolMap } from "./tools.ts";

/**
 * Cleans up after dead runs, starts the workers of a pool, and resolves when the
 * minimum of workers can take calls.
 *
 * @param giveNameBack called when the pool is over, or could not be opened.
 * @throws RegistryError and StartError, as `createPool`.
 */
export async function openPool<Tools extends ToolMap>(
	options: ResolvedOptions,
	giveNameBack: () => void,
): Promise<Pool<Tools>> {
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
