import { join } from "node:path";
import { adapterContract, startForReal } from "@snakepit/core/testing";
import { describe, test } from "vitest";
import { type HttpOptions, http } from "../src/index.ts";
import { COMMANDS } from "./contract-commands.ts";

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
