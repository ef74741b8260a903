import { join } from "node:path";
import {
	adapterContract,
	type ContractCommands,
	startForReal,
} from "@snakepit/core/testing";
import { describe, test } from "vitest";
import { type HttpOptions, http } from "../src/index.ts";
import { fastApi, needsPython, python } from "./uvicorn.ts";

/** What the servers in programs/ have for the adapter contract. */
const COMMANDS: ContractCommands = {
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

const program = join(import.meta.dirname, "programs/tools.mjs");
const server: HttpOptions = {
	command: [process.execPath, program, "{socket}"],
};

describe("http() with a server of Node keeps the adapter contract", () => {
	const contract = adapterContract({
		adapter: () => http(server),
		start: (adapter) => startForReal(adapter, { callsPerWorker: 4 }),
		callsPerWorker: 4,
		// A call may connect first: it knows that nothing was sent.
		begins: "noted",
		commands: {
			...COMMANDS,
			strayLine: { command: "POST /stray", args: {}, result: "answered" },
			endOutput: { command: "POST /mute", args: {} },
			lastAnswer: {
				...{ command: "POST /last", args: {} },
				result: "x".repeat(200_000),
			},
			breakConversation: { command: "POST /garble", args: {} },
		},
	});
	test.each(contract)("$title", ({ run }) => run());
});

describe.runIf(python)(
	`http() with uvicorn and FastAPI keeps the adapter contract${needsPython}`,
	() => {
		const contract = adapterContract({
			adapter: () => http(fastApi),
			start: (adapter) => startForReal(adapter, { callsPerWorker: 4 }),
			callsPerWorker: 4,
			// A call may connect first: it knows that nothing was sent.
			begins: "noted",
			withinMs: 25_000,
			commands: COMMANDS,
		});
		test.each(contract)("$title", ({ run }) => run());
	},
);
