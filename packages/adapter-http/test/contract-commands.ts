import type { ContractCommands } from "@snakepit/core/testing";

/** What the servers in programs/ have for the adapter contract. */
export const COMMANDS: ContractCommands = {
	echo: {
		command: "POST /echo",
		args: { any: [1, "ü"] },
		result: { echoed: { any: [1, "ü"] } },
	},
	hang: { command: "POST /sleep", args: {} },
	fail: { command: "POST /fail", args: {} },
	count: {
		command: "POST /count",
		args: {},
		items: [{ n: 1 }, { n: 2 }, { n: 3 }],
	},
	endless: {
		command: "POST /endless",
		args: {},
		// Of 64 KiB each: what two sockets and both sides' streams hold.
		window: 40,
		produced: async ({ execute }) => Number(await execute("GET /produced")),
	},
	silent: { command: "POST /silent", args: {} },
};
