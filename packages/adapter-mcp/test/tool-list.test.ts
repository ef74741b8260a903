import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { expect, test } from "vitest";
import { ToolList } from "../src/tool-list.ts";

test("a server may take longer for its list than the SDK's client waits by itself, a minute", async () => {
	const limits: unknown[] = [];
	const client = {
		getServerCapabilities: () => ({ tools: {} }),
		listTools: async (_: unknown, options?: { timeout?: number }) => {
			limits.push(options?.timeout);
			return { tools: [] };
		},
	} as Partial<Client> as Client;
	const tools = new ToolList(client);
	await tools.load(new AbortController().signal);
	await expect(tools.mustHave("unknown")).rejects.toThrow("no tool");
	expect(limits).toEqual([2 ** 31 - 1, 2 ** 31 - 1]);
});
