import { fileURLToPath } from "node:url";
import { adapterContract, startForReal } from "@snakepit/core/testing";
import { describe, test } from "vitest";
import { jsonRpcAdapter } from "../src/json-rpc-adapter.ts";

const program = fileURLToPath(
	new URL("../program/text-tools.mjs", import.meta.url),
);

const contract = adapterContract({
	adapter: () => jsonRpcAdapter([process.execPath, program]),
	start: (adapter) => startForReal(adapter, { callsPerWorker: 2 }),
	callsPerWorker: 2,
	commands: {
		echo: { command: "echo", args: { any: [1] }, result: { any: [1] } },
		hang: { command: "wait", args: {} },
		fail: { command: "words", args: { text: 5 } },
		count: {
			command: "sentences",
			args: { text: "One. Two! Three?" },
			items: ["One.", "Two!", "Three?"],
		},
		silent: { command: "silence", args: {} },
		endless: {
			command: "filler",
			args: { width: 1_000 },
			window: 2_000,
			produced: async ({ execute }) => Number(await execute("produced")),
		},
		breakConversation: { command: "garble", args: {} },
	},
});

describe("the JSON-RPC adapter keeps the adapter contract", () => {
	test.each(contract)("$title", ({ run }) => run());
});
