import type { World } from "../contract/world.ts";
import { EventRecorder } from "./event-recorder.ts";
import type { FakeMachine } from "./fake-machine.ts";
import { FakeProcessHost } from "./fake-process-host.ts";
import { MemoryRegistry } from "./memory-registry.ts";
import type { ScriptedAdapter } from "./scripted-adapter.ts";
import { SeededRandom } from "./seeded-random.ts";
import { VirtualClock } from "./virtual-clock.ts";

export interface VirtualWorldOptions {
	/** The same seed gives the same world. Default 1. */
	readonly seed?: number | undefined;
	/** Adapters whose programs the host can start. */
	readonly adapters?: readonly ScriptedAdapter[] | undefined;
	/** Shared by worlds that stand for several programs on one machine. Its clock is then the clock. */
	readonly machine?: FakeMachine | undefined;
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
	const host = new FakeProcessHost({
		clock,
		...(options.machine && { machine: options.machine }),
	});
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
