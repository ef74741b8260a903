import type { Random } from "../contract/clock.ts";
import type { World } from "../contract/world.ts";
import { Gate } from "../deadline.ts";
import type { PoolOptions } from "../options/pool-options.ts";
import { resolveOptions } from "../options/resolve-pool-options.ts";
import { makePool, type PoolOfRun } from "../pool/make-pool.ts";
import { EventHub } from "../pool/observe/event-hub.ts";
import { Instrumentation } from "../pool/observe/instrumentation.ts";
import { DISPATCHES_AT_ONCE } from "../pool/placement/dispatch-pace.ts";
import type { Pool } from "../pool/pool.ts";
import type { ToolMap, UntypedTools } from "../pool/tools.ts";
import { WorkerStarter } from "../worker/worker-starter.ts";
import { EventRecorder } from "./event-recorder.ts";
import { FakeProcessHost } from "./fake-process-host.ts";
import { MemoryRegistry } from "./memory-registry.ts";
import {
	type ScriptedAdapter,
	type ScriptedAdapterOptions,
	scriptedAdapter,
} from "./scripted-adapter.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** A pool whose workers are functions of a test. */
export interface VirtualPool<Tools extends ToolMap = UntypedTools> {
	readonly pool: Pool<Tools>;
	/** Stands still until the test advances it. */
	readonly clock: VirtualClock;
	/** The events of the pool. */
	readonly events: EventRecorder;
	/** Closes the pool while time passes. */
	close(options?: Parameters<Pool["close"]>[0]): Promise<void>;
}

/** The same with all that it is made of, for tests of this package. */
export interface VirtualPoolBench<Tools extends ToolMap = UntypedTools>
	extends VirtualWorld,
		VirtualPool<Tools> {
	readonly clock: VirtualClock;
	readonly events: EventRecorder;
	/** Opens it, and ends it with the program, as its run does. */
	readonly life: PoolOfRun["life"];
	/** As those see it who look at its run from another process. */
	readonly endpoint: PoolOfRun["endpoint"];
	readonly adapter: ScriptedAdapter;
}

/** A pool in a world in memory, not opened yet. `given` may set anything but the adapter. */
export function closedVirtualPool<Tools extends ToolMap = UntypedTools>(
	script: ScriptedAdapterOptions<NoInfer<Tools>>,
	given: Omit<PoolOptions, "adapter"> = {},
	seed = 1,
	dispatchesAtOnce: number = DISPATCHES_AT_ONCE,
): VirtualPoolBench<Tools> {
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
	const { pool, life, endpoint } = makePool({
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
			gate: new Gate(options.start.concurrency),
			marker: "virtual",
			environment: {},
			contextOf: hub.environment,
			unobserved: instrumentation?.unobserved,
		}),
		renewParent: () => {},
		release: async () => instrumentation?.detach(),
	});
	return {
		...virtual,
		pool,
		life,
		endpoint,
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
 *
 * @param given options of the pool, except its adapter.
 */
export function virtualPool<Tools extends ToolMap = UntypedTools>(
	script: ScriptedAdapterOptions<NoInfer<Tools>>,
	given: Omit<PoolOptions, "adapter"> = {},
): Promise<VirtualPool<Tools>> {
	return virtualPoolBench<Tools>(script, given);
}

/** The same with all that it is made of. */
export async function virtualPoolBench<Tools extends ToolMap = UntypedTools>(
	script: ScriptedAdapterOptions<NoInfer<Tools>>,
	given: Omit<PoolOptions, "adapter"> = {},
	seed = 1,
	dispatchesAtOnce: number = DISPATCHES_AT_ONCE,
): Promise<VirtualPoolBench<Tools>> {
	const bench = closedVirtualPool<Tools>(script, given, seed, dispatchesAtOnce);
	await Promise.all([bench.life.open(), bench.clock.advance(0)]);
	return bench;
}

export interface VirtualWorldOptions {
	/** The same seed gives the same world. Default 1. */
	readonly seed?: number | undefined;
	/** Adapters whose programs the host can start. */
	readonly adapters?: readonly ScriptedAdapter[] | undefined;
	readonly clock?: VirtualClock | undefined;
}

/** A world in memory, and its parts with their controls. */
export interface VirtualWorld {
	readonly world: World;
	readonly clock: VirtualClock;
	readonly host: FakeProcessHost;
	/** In state `running`, as after start-up cleanup. */
	readonly registry: MemoryRegistry;
	readonly random: SeededRandom;
	readonly events: EventRecorder;
}

/** Makes a world in which nothing happens by chance, and no time passes but by `clock.advance`. */
export function virtualWorld(options: VirtualWorldOptions = {}): VirtualWorld {
	const clock = options.clock ?? new VirtualClock();
	const random = new SeededRandom(options.seed);
	const events = new EventRecorder();
	const host = new FakeProcessHost({ clock });
	for (const adapter of options.adapters ?? [])
		host.install(adapter.executable, adapter.program);
	const emit = events.record;
	const registry = new MemoryRegistry({
		clock,
		random,
		owner: host.self,
		emit,
	});
	registry.transition("cleaning_stale");
	registry.transition("running");
	return {
		world: { clock, host, source: host.source, registry, random, emit },
		clock,
		host,
		registry,
		random,
		events,
	};
}

/**
 * Chance that repeats itself: the same seed gives the same numbers and tokens.
 *
 * Source: mulberry32, Tommy Ettinger (public domain).
 */
export class SeededRandom implements Random {
	readonly seed: number;
	#state: number;

	constructor(seed = 1) {
		this.seed = seed;
		this.#state = seed >>> 0;
	}

	fraction(): number {
		return this.#word() / 2 ** 32;
	}

	token(): string {
		return Array.from({ length: 8 }, () =>
			this.#word().toString(16).padStart(8, "0"),
		).join("");
	}

	/** A whole number from 0 to `below - 1`. */
	below(below: number): number {
		return Math.floor(this.fraction() * below);
	}

	/** One of `items`, which must not be empty. */
	pick<Item>(items: readonly Item[]): Item {
		if (items.length === 0)
			throw new RangeError("There is nothing to pick from.");
		return items[this.below(items.length)] as Item;
	}

	#word(): number {
		this.#state = (this.#state + 0x6d2b79f5) >>> 0;
		let word = this.#state;
		word = Math.imul(word ^ (word >>> 15), word | 1);
		word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
		return (word ^ (word >>> 14)) >>> 0;
	}
}
