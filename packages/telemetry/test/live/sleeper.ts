import { setTimeout as delay } from "node:timers/promises";
import { ToolError } from "@snakepit/core";
import type { Adapter, WorkerProcess } from "@snakepit/core/adapter";

/** A program that knows nothing of its host, and a conversation that never leaves this one. */
export const sleeper: Adapter = {
	name: "sleeper",
	launch: () => ({
		// It outlives its host where nothing protects it.
		lifeline: "off",
		executable: process.execPath,
		args: ["-e", "setInterval(() => {}, 1e6)"],
	}),
	connect: async (worker) => ({
		execute: async (command, args) => {
			await COMMANDS[command]?.(worker);
			return args;
		},
		ping: async () => ({ callsRunning: 0 }),
		[Symbol.asyncDispose]: async () => {},
	}),
};

/** Its workers never answer a ping. */
export const silentSleeper: Adapter = {
	...sleeper,
	connect: async (worker, signal) => ({
		...(await sleeper.connect(worker, signal)),
		ping: () => new Promise(() => {}),
	}),
};

const COMMANDS: Readonly<
	Record<string, (worker: WorkerProcess) => Promise<void>>
> = {
	hold: () => delay(100),
	slow: () => delay(1_500),
	fail: async () => {
		throw new ToolError({
			...{ ran: "maybe", message: "it failed" },
			remote: { type: "ValueError", message: "it failed", traceback: "" },
		});
	},
	/** Its process is killed; the call ends with it. */
	crash: (worker) => {
		process.kill(worker.pid, "SIGKILL");
		return new Promise(() => {});
	},
};
