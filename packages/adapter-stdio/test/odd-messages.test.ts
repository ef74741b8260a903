import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";
import type {
	Adapter,
	CallOptions,
	Connection,
	StartReport,
	WorkerLogRecord,
	WorkerProcess,
} from "@snakepit/core/adapter";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
	type JsonRpcClient,
	type JsonRpcOptions,
	jsonRpc,
	lines,
} from "../src/index.ts";

const { signal } = new AbortController();
/** What would have ended this program. */
const uncaught: unknown[] = [];
const note = (error: unknown) => void uncaught.push(error);

beforeEach(() => {
	process.on("uncaughtException", note).on("unhandledRejection", note);
});
afterEach(() => {
	process.off("uncaughtException", note).off("unhandledRejection", note);
	expect(uncaught.splice(0)).toEqual([]);
});

/** A conversation with a program that the test plays. @param greeting what it prints first. */
async function conversation(options: Partial<JsonRpcOptions>, greeting = "") {
	const [stdin, stdout] = [new PassThrough(), new PassThrough()];
	stdout.write(greeting);
	const logged: string[] = [];
	const broken: string[] = [];
	const starting: StartReport[] = [];
	const process = {
		...{ stdin, stdout, exited: new Promise(() => {}) },
		log: ({ message }: WorkerLogRecord) => logged.push(message),
		broken: ({ message }: Error) => broken.push(message),
		starting: (report: StartReport) => starting.push(report),
	} as Partial<WorkerProcess> as WorkerProcess;
	const adapter = jsonRpc({ command: ["unused"], ...options });
	const connection = (await adapter.connect(
		process,
		signal,
	)) as Connection<JsonRpcClient>;
	return {
		...{ connection, stdin, stdout, logged, broken, starting },
		/** Writes a message, and returns the next one of the host. */
		answerTo: async (message: object) => {
			stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
			const [text] = await once(stdin, "data");
			return JSON.parse(String(text));
		},
	};
}

const circular: { self?: unknown } = {};
circular.self = circular;

test.each<[string, () => unknown, string]>([
	["returns what cannot be JSON", () => 10n, "BigInt"],
	[
		"throws with data that cannot be JSON",
		() => {
			throw Object.assign(new Error("on purpose"), { data: circular });
		},
		"on purpose",
	],
	[
		"throws nothing",
		() => {
			throw undefined;
		},
		"undefined",
	],
])(
	"a handler that %s is answered for with an error",
	async (_, handler, why) => {
		const { answerTo } = await conversation({ handlers: { ask: handler } });
		expect(await answerTo({ id: 7, method: "ask" })).toEqual({
			...{ jsonrpc: "2.0", id: 7 },
			error: { code: -32603, message: expect.stringContaining(why) },
		});
	},
);

test("a notification at which the option `progress` throws is a warning, and the call goes on", async () => {
	const { connection, stdin, stdout, logged } = await conversation({
		progress: {
			ask: (_, token) => ({ token }),
			read: (_, params) => {
				const { token, value } = params as { token: unknown; value: unknown };
				return { token, value };
			},
		},
	});
	const answer = connection.execute("work", {}, { signal } as CallOptions);
	const [request] = await once(stdin, "data");
	const { id } = JSON.parse(String(request));
	stdout.write(
		'{"method":"$/progress"}\n{"method":"$/progress","params":null}\n',
	);
	stdout.write(`${JSON.stringify({ id, result: "done" })}\n`);
	expect(await answer).toBe("done");
	expect(logged).toEqual([
		expect.stringContaining("$/progress"),
		expect.stringContaining("$/progress"),
	]);
});

test("of a program that breaks the framing nothing more is kept, and all that it writes is read", async () => {
	const { stdout, broken } = await conversation({
		framing: "content-length",
	});
	const chunk = Buffer.alloc(65_536, "x");
	for (let chunks = 0; chunks < 100; chunks++)
		if (!stdout.write(chunk)) await once(stdout, "drain");
	expect(broken).toEqual([expect.stringContaining("header")]);
	expect(stdout.listenerCount("data")).toBe(0);
});

test.each<[string, object, string, string]>([
	["no code", { error: { message: "full" } }, "JSON-RPC error", "full"],
	[
		"a word as its code",
		{ error: { code: "ENOSPC", message: "full" } },
		"JSON-RPC error ENOSPC",
		"full",
	],
	["only a text", { error: "full" }, "JSON-RPC error", "full"],
	[
		"no message",
		{ error: { code: -32000, why: 1 } },
		"JSON-RPC error -32000",
		'{"code":-32000,"why":1}',
	],
	[
		"an empty result beside it, as version 1 has it",
		{ result: null, error: "full" },
		"JSON-RPC error",
		"full",
	],
	["no result either", {}, "JSON-RPC error", "neither a result nor an error"],
])(
	"an error response with %s settles its call",
	async (_, answer, type, message) => {
		const { connection, stdin, stdout } = await conversation({});
		const failed = connection.execute("work", {}, { signal } as CallOptions);
		const [request] = await once(stdin, "data");
		const { id } = JSON.parse(String(request));
		stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
		await expect(failed).rejects.toMatchObject({
			code: "TOOL_FAILED",
			remote: { type, message: expect.stringContaining(message) },
		});
	},
);

test.each(["lines", "content-length"] as const)(
	"a start with %s reports which answer it waits for, and the line that a program printed before it",
	async (framing) => {
		const { starting } = await conversation(
			{
				framing,
				ready: async (client) => {
					const answer = client.request("initialize");
					// What was printed is read in the next turns.
					await Promise.race([answer, new Promise(setImmediate)]);
					answer.catch(() => {});
					return {};
				},
			},
			"Welcome to the server!\r\n",
		);
		const last = Object.assign({}, ...starting);
		expect(last).toEqual({
			awaits: 'the answer to "initialize"',
			stray: "Welcome to the server!",
		});
	},
);

test.each<[string, () => unknown]>([
	[
		"throws",
		() => {
			throw new Error("on purpose");
		},
	],
	["returns nothing", () => undefined],
	[
		"returns params that cannot be JSON",
		() => ({ method: "stop", params: circular }),
	],
])(
	"an option `cancel` that %s is a warning, and the call is cancelled as its answer says",
	async (_, cancel) => {
		const { connection, stdin, stdout, logged } = await conversation({
			cancel: cancel as JsonRpcOptions["cancel"],
		});
		const controller = new AbortController();
		const call = connection.execute("work", {}, {
			signal: controller.signal,
		} as CallOptions);
		const [request] = await once(stdin, "data");
		controller.abort();
		const { id } = JSON.parse(String(request));
		stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: 1 })}\n`);
		expect(await call).toBe(1);
		expect(logged).toEqual([
			expect.stringMatching(
				/the option cancel failed, so the program was not asked to cancel request 1: ./,
			),
		]);
	},
);

test("an option `progress.ask` that throws fails its call, and nothing is sent", async () => {
	const { connection, stdin } = await conversation({
		progress: {
			ask: () => {
				throw new Error("on purpose");
			},
			read: () => undefined,
		},
	});
	const stream = connection.stream?.("work", {}, { signal } as CallOptions);
	await expect(stream?.[Symbol.asyncIterator]().next()).rejects.toMatchObject({
		code: "INVALID_ARGUMENTS",
		ran: "no",
		message: expect.stringMatching(/progress\.ask failed.*on purpose/),
	});
	expect(stdin.readableLength).toBe(0);
});

test("an answer with the number of its request as a text settles it; one to no request is a warning", async () => {
	const { connection, stdin, stdout, logged } = await conversation({});
	const call = connection.execute("work", {}, { signal } as CallOptions);
	const [request] = await once(stdin, "data");
	const { id } = JSON.parse(String(request));
	const stray = ["other", "", "1.5", 7, -1, 0].map((each) =>
		JSON.stringify({ jsonrpc: "2.0", id: each, result: "not this" }),
	);
	stdout.write(`${stray.join("\n")}\n`);
	stdout.write(
		`${JSON.stringify({ jsonrpc: "2.0", id: String(id), result: "done" })}\n`,
	);
	expect(await call).toBe("done");
	expect(logged).toHaveLength(stray.length);
});

test("a request is one line for readers that know more ends of lines than `\\n`", async () => {
	const { connection, stdin, stdout } = await conversation({});
	const text = "a\u0085b\u2028c\u2029d";
	const call = connection.execute("work", { text }, { signal } as CallOptions);
	const [request] = await once(stdin, "data");
	expect(String(request)).not.toMatch(/[\u0085\u2028\u2029]/);
	const { id, params } = JSON.parse(String(request));
	expect(params).toEqual({ text });
	stdout.write(`${JSON.stringify({ id, result: text })}\n`);
	expect(await call).toBe(text);
});

/** A process that lives and has closed its output before anyone listened: a guard reports the start a little later. */
async function muteProcess(): Promise<WorkerProcess> {
	const stdout = Readable.from([]);
	stdout.resume();
	await once(stdout, "end");
	return {
		stdin: new PassThrough(),
		stdout,
		exited: new Promise(() => {}),
		starting: () => {},
	} as Partial<WorkerProcess> as WorkerProcess;
}

test.each<[string, Adapter]>([
	["lines()", lines({ command: ["unused"] })],
	["jsonRpc()", jsonRpc({ command: ["unused"] })],
])(
	"a call of %s does not wait for an answer of a process that had ended its output",
	async (_, adapter) => {
		const { signal } = new AbortController();
		const connection = await adapter.connect(await muteProcess(), signal);
		const call = { signal } as CallOptions;
		await expect(connection.execute("a", "b", call)).rejects.toThrow(
			"it has ended its output",
		);
	},
);
