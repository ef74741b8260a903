import { expect, onTestFinished } from "vitest";
import type { Connection } from "../../src/contract/connection.ts";
import type { UntypedTools } from "../../src/pool/tools.ts";
import type { ScriptedAdapter } from "../../src/testing/scripted-adapter.ts";
import {
	closedVirtualPool as closedPool,
	type VirtualPoolBench as VirtualPool,
	virtualPoolBench,
} from "../../src/testing/virtual-pool.ts";

export type { VirtualPool };

/** When the test is over the pool is closed in order: every event has its pair then, and nothing of it lives. */
function closesInOrder(bench: VirtualPool): VirtualPool {
	onTestFinished(async () => {
		await bench.close();
		bench.events.assertPaired();
		expect(bench.host.living()).toEqual([]);
	});
	return bench;
}

/** A pool in a world in memory, which ends with its test. */
export async function virtualPool(
	...given: Parameters<typeof virtualPoolBench<UntypedTools>>
): Promise<VirtualPool> {
	return closesInOrder(await virtualPoolBench(...given));
}

/** The same, not opened yet. */
export function closedVirtualPool(
	...given: Parameters<typeof closedPool<UntypedTools>>
): VirtualPool {
	return closesInOrder(closedPool(...given));
}

/** The same, opened, with something laid over each of its connections. */
export async function virtualPoolOver(
	laid: (connection: Connection) => Partial<Connection>,
	...given: Parameters<typeof closedPool<UntypedTools>>
): Promise<VirtualPool> {
	const bench = closedVirtualPool(...given);
	overConnections(bench.adapter, laid);
	await Promise.all([bench.life.open(), bench.clock.advance(0)]);
	return bench;
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
