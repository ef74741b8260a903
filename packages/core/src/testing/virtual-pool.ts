import type { PoolOptions } from "../options/pool-options.ts";
import { resolveOptions } from "../options/resolve-pool-options.ts";
import { makePool, type OwnedPool } from "../pool/make-pool.ts";
import { EventHub } from "../pool/observe/event-hub.ts";
import { Instrumentation } from "../pool/observe/instrumentation.ts";
import { DISPATCHES_AT_ONCE } from "../pool/placement/dispatch-pace.ts";
import type { Pool } from "../pool/pool.ts";
import type { ToolMap, UntypedTools } from "../pool/tools.ts";
import { StartGate } from "../worker/start-gate.ts";
import { WorkerStarter } from "../worker/worker-starter.ts";
import {
	type ScriptedAdapter,
	type ScriptedAdapterOptions,
	scriptedAdapter,
} from "./scripted-adapter.ts";
import { type VirtualWorld, virtualWorld } from "./virtual-world.ts";

export interface VirtualPool<Tools extends ToolMap = UntypedTools>
	extends VirtualWorld {
	readonly pool: Pool<Tools>;
	/** Opens it, and ends it with the program, as its run does. */
	readonly life: OwnedPool["life"];
	/** As those see it who look at its run from another process. */
	readonly visible: OwnedPool["visible"];
	readonly adapter: ScriptedAdapter;
	/** Closes the pool while time passes. */
	close(options?: Parameters<Pool["close"]>[0]): Promise<void>;
}

/** A pool in a world in memory, not opened yet. `given` may set anything but the adapter. */
export function closedVirtualPool<Tools extends ToolMap = UntypedTools>(
	script: ScriptedAdapterOptions<NoInfer<Tools>>,
	given: Omit<PoolOptions, "adapter"> = {},
	seed = 1,
	dispatchesAtOnce: number = DISPATCHES_AT_ONCE,
): VirtualPool<Tools> {
	// A worker finds its scripts by name, whatever they take.
	const adapter = scriptedAdapter(script as ScriptedAdapterOptions);
	const virtual = virtualWorld({ seed, adapters: [adapter] });
	const options = resolveOptions(
		{
			...given,
			heartbeat: given.heartbeat ?? "off",
			output: given.output ?? { echo: "none" },
			size: given.size ?? 1,
			adapter,
		},
		2,
	);
	const hub = new EventHub();
	hub.subscribe(virtual.events.record);
	if (options.onEvent !== undefined) hub.subscribe(options.onEvent);
	const instrumentation = Instrumentation.attach(
		options,
		hub,
		virtual.clock.wall.bind(virtual.clock),
	);
	const world = { ...virtual.world, emit: hub.emit };
	const { pool, life, visible } = makePool({
		options,
		world,
		hub,
		instrumentation,
		dispatchesAtOnce,
		runDirectories: { directory: "/virtual", shared: "/shared" },
		audit: () => ({
			looks: 0,
			vanished: 0,
			straysFound: 0,
			straysKilled: 0,
		}),
		cleanupReport: {
			deadRuns: [],
			found: 0,
			reaped: [],
			sparedProcesses: [],
			sparedRuns: [],
			setAside: [],
			durationMs: 0,
		},
		starter: new WorkerStarter({
			adapter,
			options,
			world,
			gate: new StartGate(options.start.concurrency),
			marker: "virtual",
			environment: {},
		}),
		renewParent: () => {},
		release: async () => instrumentation?.detach(),
	});
	return {
		...virtual,
		pool,
		life,
		visible,
		adapter,
		close: async (closing) => {
			const closed = pool.close(closing);
			await virtual.clock.advance(120_000);
			await closed;
		},
	};
}

/**
 * A pool in a world in memory, with its minimum of workers ready.
 *
 * `virtualPool<Tools>` checks the scripts against the tools' types, and its pool is a `Pool<Tools>`.
 */
export async function virtualPool<Tools extends ToolMap = UntypedTools>(
	script: ScriptedAdapterOptions<NoInfer<Tools>>,
	given: Omit<PoolOptions, "adapter"> = {},
	seed = 1,
	dispatchesAtOnce: number = DISPATCHES_AT_ONCE,
): Promise<VirtualPool<Tools>> {
	const made = closedVirtualPool<Tools>(script, given, seed, dispatchesAtOnce);
	await Promise.all([made.life.open(), made.clock.advance(0)]);
	return made;
}
