import type { Adapter, Connection } from "@snakepit/core/adapter";

/**
 * Workers that are real processes and do nothing (`sleep`), with a conversation
 * that never leaves this one: what is left is the cost of the pool.
 */
export function inProcessAdapter(execute: Connection["execute"]): Adapter {
	return {
		name: "in-process",
		launch: () => ({ executable: "sleep", args: ["2147483647"] }),
		connect: async () => ({ execute, [Symbol.asyncDispose]: async () => {} }),
	};
}
