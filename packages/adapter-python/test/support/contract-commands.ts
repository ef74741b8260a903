import type { ContractCommands } from "@snakepit/core/testing";

/** The tools of bench.py that the contract of adapters uses. */
export const COMMANDS: ContractCommands = {
	echo: { command: "echo", args: { value: [1, "x"] }, result: [1, "x"] },
	hang: { command: "hang_async", args: {} },
	fail: { command: "fail", args: {} },
	count: {
		command: "count_and_total",
		args: { below: 3 },
		items: [0, 1, 2],
		result: { total: 3 },
	},
	report: {
		command: "report",
		args: {},
		reports: [
			{ fraction: 0.5, message: "half" },
			{ fraction: undefined, message: "" },
			{ fraction: 1, message: "whole" },
		],
		result: "reported",
	},
	strayLine: { command: "say", args: { text: "aloud" }, result: "aloud" },
	leaveSlowly: { command: "linger", args: { seconds: 0.3 } },
	endless: {
		command: "endless",
		args: {},
		// What small chunks count at least, against the default credit.
		window: (64 * 1024) / 256,
		produced: async ({ execute }) => Number(await execute("how_many_produced")),
	},
};

/** With one call at a time, tools that block are interrupted as well. */
export const BLOCKING: ContractCommands = {
	...COMMANDS,
	hang: { command: "hang", args: {} },
	silent: { command: "silent", args: {} },
};
