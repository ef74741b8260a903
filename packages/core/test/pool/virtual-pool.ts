import type { Connection } from "../../src/contract/connection.ts";
import type { ScriptedAdapter } from "../../src/testing/scripted-adapter.ts";

export {
	closedVirtualPool,
	type VirtualPoolBench as VirtualPool,
	virtualPoolBench as virtualPool,
} from "../../src/testing/virtual-pool.ts";

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
