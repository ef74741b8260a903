import { adapterContract, startForReal } from "@snakepit/core/testing";
import { describe, test } from "vitest";
import { lsp } from "../src/index.ts";
import { SERVERS } from "./servers.ts";

const { tiny } = SERVERS;

describe("lsp() keeps the adapter contract", () => {
	const contract = adapterContract({
		adapter: () => lsp(tiny),
		start: (adapter) => startForReal(adapter, { callsPerWorker: 2 }),
		callsPerWorker: 2,
		withinMs: 25_000,
		commands: {
			echo: {
				command: "tiny/echo",
				args: { any: [1, "ü"] },
				result: { any: [1, "ü"] },
			},
			hang: { command: "tiny/hang", args: {} },
			fail: { command: "tiny/fail", args: {} },
			count: {
				command: "tiny/count",
				args: { to: 3 },
				items: [
					{ kind: "progress", value: { kind: "begin", title: "counting" } },
					...[1, 2, 3].map((value) => ({ kind: "result", value })),
				],
				result: "counted",
			},
			report: {
				command: "tiny/work",
				args: {},
				reports: [
					{ fraction: 0, message: "works" },
					{ fraction: 0.5, message: "half" },
					{ fraction: undefined, message: "half" },
					{ fraction: 1, message: "done" },
				],
				result: { inParts: false },
			},
			endless: {
				command: "tiny/filler",
				args: {},
				window: 2_000,
				produced: async ({ execute }) =>
					Number(await execute("tiny/produced", {})),
			},
			silent: { command: "tiny/hang", args: {} },
			endOutput: { command: "tiny/mute", args: {} },
			// No `lastAnswer`: the protocol's library reads a message a turn later, when a server that exits at once is gone.
			leaveSlowly: { command: "tiny/linger", args: {} },
			breakConversation: { command: "tiny/garble", args: {} },
		},
	});
	test.each(contract)("$title", ({ run }) => run());
});
