import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { readHistory } from "@snakepit/core/inspect";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dataDirectory } from "../../../../scripts/test-data-directory.ts";

const state = dataDirectory();
const client = new Client({ name: "test", version: "1" });
const logged: {
	readonly data: unknown;
	readonly logger?: string | undefined;
}[] = [];
let seen = () => {};
const server = spawn(
	process.execPath,
	[
		"--conditions=snakepit-source",
		fileURLToPath(new URL("./program.ts", import.meta.url)),
		state,
	],
	{ stdio: ["pipe", "pipe", "inherit"] },
);
const ended = once(server, "exit");
// Not StdioClientTransport, which kills a server that has not ended after two seconds.
const transport = new StdioServerTransport(server.stdout, server.stdin);
const faults: Error[] = [];

beforeAll(async () => {
	client.setNotificationHandler(
		LoggingMessageNotificationSchema,
		({ params }) => {
			logged.push(params);
			seen();
		},
	);
	// What is no message of the protocol on standard output is an error of the transport.
	client.onerror = (error) => faults.push(error);
	await client.connect(transport);
});
afterAll(async () => {
	server.kill("SIGKILL");
	await ended;
	await client.close();
});

const call = (name: string, args: Record<string, unknown>, options = {}) =>
	client.callTool({ name, arguments: args }, undefined, options);

async function loggedNext(text: string): Promise<void> {
	while (!logged.some(({ data }) => data === text))
		await new Promise<void>((resolve) => {
			seen = resolve;
		});
}

test("tools are listed with their docstrings and the schemas of their annotations", async () => {
	const { tools } = await client.listTools();
	expect(tools.map(({ name }) => name)).toEqual(
		expect.arrayContaining(["mean", "countdown", "fails"]),
	);
	expect(tools.find(({ name }) => name === "mean")).toMatchObject({
		description: "The arithmetic mean.",
		inputSchema: {
			type: "object",
			properties: { numbers: { type: "array", items: { type: "number" } } },
			required: ["numbers"],
		},
	});
	expect(client.getServerVersion()?.name).toBe("snakepit");
});

test("a result is a text; an object is structured content as well", async () => {
	expect(await call("mean", { numbers: [1, 2, 6] })).toEqual({
		content: [{ type: "text", text: "3" }],
	});
	expect(await call("described", { name: "x" })).toEqual({
		content: [
			{
				type: "text",
				text: '{"name":"x","length":1,"large":"1180591620717411303424"}',
			},
		],
		structuredContent: { name: "x", length: 1, large: String(2n ** 70n) },
	});
});

test("bytes and dates cross as the schema writes them", async () => {
	const data = Buffer.from("four").toString("base64");
	expect(
		await call("size", { data, at: "2026-01-02T03:04:05Z" }),
	).toMatchObject({
		content: [{ text: "4 bytes at 2026-01-02T03:04:05+00:00" }],
	});
});

test.each([[[1, 2]], ["AQI="]])(
	"an array crosses as the schema writes it, with %j",
	async (data) => {
		const $ndarray = { dtype: "uint8", shape: [2, 1], data };
		expect(await call("shape", { array: { $ndarray } })).toMatchObject({
			content: [{ text: "uint8 (2, 1) 0102" }],
		});
	},
);

/** Calls a tool that waits after each report until it was seen: the client drops those that arrive together with the result. */
async function followed(name: string) {
	const fifo = join(state, name);
	execFileSync("mkfifo", [fifo]);
	const progress: unknown[] = [];
	const onprogress = (each: unknown) => {
		progress.push(each);
		writeFile(fifo, "on", () => {});
	};
	return { result: await call(name, { fifo }, { onprogress }), progress };
}

test("reports of a tool are progress, which grows as MCP requires", async () => {
	expect(await followed("stages")).toEqual({
		result: { content: [{ type: "text", text: "done" }] },
		progress: [
			{ progress: 0.5, total: 1, message: "half" },
			{ progress: 0.500001, message: "unknown" },
			{ progress: 0.9, total: 1, message: "nearly" },
		],
	});
});

test("dataclasses, enums and the like cross as the schema writes them", async () => {
	const { tools } = await client.listTools();
	const ordered = tools.find(({ name }) => name === "ordered");
	expect(ordered?.inputSchema).toMatchObject({
		properties: {
			order: { $ref: "#/$defs/Order" },
			wait: { type: "string", format: "duration", default: "P1D" },
		},
		required: ["order"],
		$defs: {
			Order: {
				properties: {
					due: { type: "string", format: "date" },
					size: { enum: ["small", "large"] },
					tags: { type: "array", uniqueItems: true },
				},
				required: ["id", "price", "due", "tags"],
			},
		},
	});
	const order = {
		id: "0d9e2b0a-6f0e-4f6c-8a57-0f3a5b1c2d3e",
		price: "1.25",
		due: "2026-01-02",
		tags: ["a"],
	};
	expect(await call("ordered", { order, wait: "P2D" })).toMatchObject({
		structuredContent: {
			...order,
			price: "2.50",
			due: "2026-01-04",
			size: "small",
		},
	});
	const wrong = await call("ordered", { order: { ...order, size: "huge" } });
	expect(JSON.stringify(wrong.content)).toMatch(
		/INVALID_ARGUMENTS.*order\.size.*one of 'small', 'large'/,
	);
});

test("chunks of a stream are progress, and parts of the result", async () => {
	expect(await followed("steps")).toEqual({
		result: {
			content: ["one", "two"].map((text) => ({ type: "text", text })),
		},
		progress: [
			{ progress: 1, message: "one" },
			{ progress: 2, message: "two" },
		],
	});
	expect(await call("countdown", { start: 2 })).toMatchObject({
		content: [{ text: "2" }, { text: "1" }, { text: "done" }],
	});
});

test("what fails in Python, or is called wrongly, is a result that says so, without a traceback", async () => {
	expect(await call("fails", { message: "no luck" })).toEqual({
		isError: true,
		content: [{ type: "text", text: "ValueError: no luck" }],
	});
	const wrong = await call("mean", { numbers: ["x"] });
	expect(wrong).toMatchObject({ isError: true });
	expect(JSON.stringify(wrong.content)).toMatch(/INVALID_ARGUMENTS.*numbers/);
	await expect(call("absent", {})).rejects.toMatchObject({
		code: -32602,
		// As the SDK's client writes it, once.
		message: expect.stringMatching(
			/^MCP error -32602: There is no tool "absent"/,
		),
	});
});

test("log records are notifications", async () => {
	await call("logs", { message: "careful" });
	await loggedNext("careful");
	expect(logged).toContainEqual({
		level: "warning",
		logger: "tools",
		data: "careful",
	});
});

test("a call that the client cancels is cancelled in Python", async () => {
	const stop = new AbortController();
	const waiting = call("waits", {}, { signal: stop.signal });
	await loggedNext("waiting");
	stop.abort("enough");
	await expect(waiting).rejects.toThrow("enough");
	await loggedNext("cancelled");
});

test("nothing but the protocol was on standard output, and the server ends with its client", async () => {
	server.stdin.end();
	expect(await ended).toEqual([0, null]);
	expect(faults).toEqual([]);
	const runs = await Array.fromAsync(readHistory({ dataDir: state }));
	expect(runs).toMatchObject([{ clean: true }]);
});
