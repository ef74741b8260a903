import type { Adapter } from "@snakepit/core/adapter";

/** A program that knows nothing of its host, and a conversation that never leaves this one. */
export const sleeper: Adapter = {
	name: "sleeper",
	launch: () => ({
		// It outlives its host where nothing protects it.
		lifeline: "off",
		executable: process.execPath,
		args: ["-e", "setInterval(() => {}, 1e6)"],
	}),
	connect: async () => ({
		execute: async (_command, args) => args,
		ping: async () => ({ callsRunning: 0 }),
		[Symbol.asyncDispose]: async () => {},
	}),
};
