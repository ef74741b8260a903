import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { adapterContract, startForReal } from "@snakepit/core/testing";
import { describe, expect, test } from "vitest";
import { temporaryDirectory } from "../../../scripts/test-data-directory.ts";
import { rows } from "../../../scripts/test-effort.ts";
import { testPool } from "../../../scripts/test-pool.ts";
import { type McpOptions, mcp } from "../src/index.ts";
import { progressOf } from "../src/mcp-adapter.ts";
import { ToolList } from "../src/tool-list.ts";
import { server } from "./servers.ts";

const everything: McpOptions = { command: server("everything") };
const long = "trigger-long-running-operation";
const said = (text: string) => ({ content: [{ type: "text", text }] });
const longDone = said(
	"Long running operation completed. Duration: 0.3 seconds, Steps: 3.",
);

/** Each starts the server, which is half a second of processor time. Calls, failures and kills are below, too. */
const OFTEN =
	/^an aborted call|^a stream yields|^progress reports arrive|^leave ends/;

describe("mcp() with the server `everything` keeps the adapter contract", () => {
	const contract = adapterContract({
		adapter: () => mcp(everything),
		start: (adapter) => startForReal(adapter, { callsPerWorker: 2 }),
		callsPerWorker: 2,
		withinMs: 25_000,
		commands: {
			echo: {
				command: "echo",
				args: { message: "hello" },
				result: said("Echo: hello"),
			},
			hang: { command: long, args: { duration: 3_600, steps: 1 } },
			fail: { command: "get-sum", args: { a: "no number" } },
			count: {
				command: long,
				args: { duration: 0.3, steps: 3 },
				items: [1, 2, 3].map((progress) => ({ progress, total: 3 })),
				result: longDone,
			},
			report: {
				command: long,
				args: { duration: 0.3, steps: 3 },
				reports: [1, 2, 3].map((step) => ({ fraction: step / 3, message: "" })),
				result: longDone,
			},
			silent: { command: long, args: { duration: 3_600, steps: 1 } },
		},
	});
	const cases = rows(contract, ({ title }) => OFTEN.test(title));
	test.each(cases)("$title", ({ run }) => run());
});

describe("mcp() with a server of difficult habits keeps the adapter contract", () => {
	const program = join(import.meta.dirname, "programs/habits.ts");
	const contract = adapterContract({
		adapter: () => mcp({ command: [process.execPath, program] }),
		start: (adapter) => startForReal(adapter),
		withinMs: 25_000,
		commands: {
			echo: { command: "echo", args: {}, result: said("here") },
			strayLine: { command: "stray", args: {}, result: said("answered") },
			endOutput: { command: "mute", args: {} },
			lastAnswer: {
				...{ command: "finish", args: {} },
				result: said("x".repeat(200_000)),
			},
			leaveSlowly: { command: "linger", args: {} },
		},
	});
	test.each(
		contract.filter(({ title }) =>
			/stray|output|answer |slow leave/.test(title),
		),
	)("$title", ({ run }) => run());
});

describe("a pool of servers", () => {
	const pooled = (options: McpOptions) => testPool({ adapter: mcp(options) });

	test("leases the official client, and shows what its server said of itself", async () => {
		const { pool } = await pooled(everything);
		const names = await pool.use(async (client, { signal }) =>
			(await client.listTools({}, { signal })).tools.map(({ name }) => name),
		);
		expect(names).toContain("echo");
		expect(pool.workers()[0]?.facts).toMatchObject({
			server: { name: expect.stringContaining("everything") },
			tools: names,
		});
	});

	test("describes the tools of its servers, with the schemas of their arguments", async () => {
		const adapter = mcp(everything);
		const { signal } = new AbortController();
		expect(await adapter.describe?.(signal)).toEqual([]);
		await testPool({ adapter });
		expect(await adapter.describe?.(signal)).toContainEqual({
			name: "echo",
			description: expect.stringContaining("Echo"),
			argumentsSchema: expect.objectContaining({ type: "object" }),
		});
	});

	test("answers what its server asks for", async () => {
		const asked: unknown[] = [];
		const { pool } = await pooled({
			...everything,
			roots: [{ uri: "file:///srv", name: "srv" }],
			sampling: ({ messages }) => {
				asked.push(messages.length);
				return {
					model: "none",
					role: "assistant",
					content: { type: "text", text: "forty-two" },
				};
			},
		});
		const result = await pool.execute("trigger-sampling-request", {
			prompt: "How much?",
			maxTokens: 10,
		});
		expect(JSON.stringify(result)).toContain("forty-two");
		expect(asked).toEqual([1]);
	});

	test("says how a server ended that ends at its start", async () => {
		const pool = pooled({
			command: ["sh", "-c", "echo oops >&2; exit 4"],
		});
		await expect(pool).rejects.toMatchObject({
			code: "WORKER_EXITED_EARLY",
			message: expect.stringMatching(
				/exited with code 4 before it was ready\.[\s\S]*\n {2}\| oops$/,
			),
		});
	});

	test("replaces a server that is killed in a call", async () => {
		const { pool, events } = await pooled(everything);
		const call = pool
			.execute(long, { duration: 3_600, steps: 1 })
			.catch((error: unknown) => error);
		await events.waitFor("call.dispatched");
		const pid = pool.workers()[0]?.pid ?? 0;
		process.kill(pid, "SIGKILL");
		expect(await call).toMatchObject({
			code: "WORKER_EXITED",
			ran: "maybe",
			message: expect.stringContaining(
				"was ended by SIGKILL while it ran this call",
			),
		});
		expect(await pool.execute("echo", { message: "again" })).toMatchObject({
			content: [{ text: "Echo: again" }],
		});
		expect(pool.workers()[0]?.pid).not.toBe(pid);
	});

	test("reads files with the server `filesystem`, and reports what it refuses", async () => {
		const place = realpathSync(temporaryDirectory());
		writeFileSync(join(place, "a.txt"), "the text");
		const { pool } = await pooled({
			command: [...server("filesystem"), place],
		});
		expect(
			await pool.execute("read_text_file", { path: join(place, "a.txt") }),
		).toMatchObject({ content: [{ text: "the text" }] });
		await expect(
			pool.execute("read_text_file", { path: "/elsewhere" }),
		).rejects.toMatchObject({
			code: "TOOL_FAILED",
			remote: { type: "MCP tool error" },
		});
	});
});

test.each([
	[{}, '"command" must be an array of strings'],
	[{ command: ["x"], samplin: () => {} }, 'Did you mean "sampling"?'],
] as const)("%j is refused", (options, message) => {
	expect(() => mcp(options as never)).toThrow(message);
});

test.each([
	["a part of a total", { progress: 1, total: 4, message: "m" }, 0.25, "m"],
	["none of a total", { progress: 0, total: 4 }, 0, ""],
	["a count without a total", { progress: 7 }, undefined, ""],
	["none of nothing", { progress: 0, total: 0 }, undefined, ""],
	["more than the total", { progress: 5, total: 4 }, 1, ""],
	["less than none", { progress: -1, total: 4 }, 0, ""],
	[
		"a long message",
		{ progress: 1, total: 1, message: "x".repeat(9_999) },
		1,
		"x".repeat(1_000),
	],
])("a server reports %s", (_, report, fraction, message) => {
	expect(progressOf(report)).toEqual({ fraction, message });
});

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
