import { fileURLToPath } from "node:url";
import type { CallOptions } from "@snakepit/core/adapter";
import { adapterContract, startForReal } from "@snakepit/core/testing";
import { describe, expect, test } from "vitest";
import { jsonRpcAdapter } from "../src/json-rpc-adapter.ts";

const program = fileURLToPath(
	new URL("../program/text-tools.mjs", import.meta.url),
);

/** More than a pipe holds. */
const long = "x".repeat(200_000);

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
		endOutput: { command: "mute", args: {} },
		lastAnswer: { command: "finish", args: long, result: long },
		leaveSlowly: { command: "linger", args: { ms: 300 } },
		breakConversation: { command: "garble", args: {} },
	},
});

describe("the JSON-RPC adapter keeps the adapter contract", () => {
	test.each(contract)("$title", ({ run }) => run());
});

test.each(["execute", "stream"] as const)(
	"%s refuses an input stream, which the program could not read",
	async (way) => {
		const adapter = jsonRpcAdapter([process.execPath, program]);
		const { connection, stop } = await startForReal(adapter);
		const { signal } = new AbortController();
		const options = { signal, input: [1] } as unknown as CallOptions;
		const asked =
			way === "execute"
				? connection.execute("echo", {}, options)
				: Array.fromAsync(connection.stream?.("sentences", {}, options) ?? []);
		await expect(asked).rejects.toMatchObject({
			code: "NOT_OFFERED",
			ran: "no",
		});
		await stop();
	},
);
