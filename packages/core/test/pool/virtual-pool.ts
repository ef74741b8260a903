import type { Connection } from "../../src/adapter.ts";
import type { PoolOptions } from "../../src/options.ts";
import { EventHub } from "../../src/pool/event-hub.ts";
import { Pool } from "../../src/pool/pool.ts";
import { resolveOptions } from "../../src/resolve-options.ts";
import {
	type ScriptedAdapter,
	type ScriptedAdapterOptions,
	scriptedAdapter,
	type VirtualWorld,
	virtualWorld,
} from "../../src/testing.ts";
import { StartGate } from "../../src/worker/start-gate.ts";
import { WorkerStarter } from "../../src/worker/worker-starter.ts";

export interface VirtualPool extends VirtualWorld {
	readonly pool: Pool;
	readonly adapter: ScriptedAdapter;
	/** Closes the pool while time passes. */
	close(options?: Parameters<Pool["close"]>[0]): Promise<void>;
}

/** A pool in a world in memory, not opened yet. */
export function closedVirtualPool(
	script: ScriptedAdapterOptions,
	given: Omit<PoolOptions, "adapter"> = {},
	seed = 1,
): VirtualPool {
	const adapter = scriptedAdapter(script);
	const virtual = virtualWorld({ seed, adapters: [adapter] });
	const options = resolveOptions(
		{ heartbeat: "off", output: { echo: "none" }, size: 1, ...given, adapter },
		2,
	);
	const hub = new EventHub();
	hub.subscribe(virtual.events.record);
	if (options.onEvent !== undefined) hub.subscribe(options.onEvent);
	const world = { ...virtual.world, emit: hub.emit };
	const pool = new Pool({
		options,
		world,
		hub,
		runDirectory: "/virtual",
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
		release: async () => {},
	});
	return {
		...virtual,
		pool,
		adapter,
		close: async (closing) => {
			const closed = pool.close(closing);
			await virtual.clock.advance(120_000);
			await closed;
		},
	};
}

/** A pool in a world in memory, with its minimum of workers ready. */
export async function virtualPool(
	script: ScriptedAdapterOptions,
	given: Omit<PoolOptions, "adapter"> = {},
	seed = 1,
): Promise<VirtualPool> {
	const made = closedVirtualPool(script, given, seed);
	const opened = made.pool.open();
	await made.clock.advance(0);
	await opened;
	return made;
}

/** Lays something over every connection that the adapter makes from now on. */
export function overConnections(
	adapter: ScriptedAdapter,
	laid: (connection: Connection) => Partial<Connection>,
): void {
	const connect = adapter.connect.bind(adapter);
	Object.assign(adapter, {
		connect: async (...args: Parameters<typeof connect>) => {
			const connection = await connect(...args);
			return { ...connection, ...laid(connection) };
		},
	});
}

/** What a promise came to, for tests that let time pass before they look. */
export function outcome<T>(
	promise: Promise<T>,
): Promise<
	| { kind: "value"; value: T }
	| { kind: "error"; code: unknown; ran: unknown; error: Error }
> {
	return promise.then(
		(value) => ({ kind: "value" as const, value }),
		(error) => ({
			kind: "error" as const,
			code: error.code,
			ran: error.ran,
			error,
		}),
	);
}
