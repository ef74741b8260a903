import { request } from "node:http";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { HttpStatusError, http } from "../src/index.ts";
import { begun, node, pooled, sharedPool } from "./pooled.ts";

const command = node("{socket}");
const shared = sharedPool({ command });
const small = sharedPool({ command, maxMessageBytes: 1_024 });

describe("a call", () => {
	test("of a method with a body has its arguments there, of another one in the query", async () => {
		const { pool } = await shared();
		expect(await pool.execute("POST /echo", { a: [1] })).toEqual({
			echoed: { a: [1] },
		});
		expect(
			await pool.execute("GET /url/{id}", {
				id: "a/b ü",
				q: ["x", 2],
				no: undefined,
			}),
		).toBe("/url/a%2Fb%20%C3%BC?q=x&q=2");
		expect(await pool.execute("PUT /url/{id}?dry=1", { id: 7 })).toBe(
			"/url/7?dry=1",
		);
	});

	test("sends bytes as they are, and has bytes and text as they are", async () => {
		const { pool } = await shared();
		const bytes = new Uint8Array([0, 255, 10]);
		expect(await pool.execute("POST /same", bytes)).toEqual(Buffer.from(bytes));
		expect(await pool.execute("GET /text")).toBe("grüezi");
		expect(await pool.execute("GET /empty")).toBeUndefined();
	});

	test("streams lines, events, text and bytes, and execute has all of them", async () => {
		const { pool } = await shared();
		const lines = [{ n: 1 }, { n: 2 }, { n: 3 }];
		expect(await Array.fromAsync(pool.stream("POST /count"))).toEqual(lines);
		expect(await pool.execute("POST /count")).toEqual(lines);
		expect(await Array.fromAsync(pool.stream("GET /events"))).toEqual([
			{ event: "message", data: "one", id: "" },
			{ event: "part", data: "two\nlines", id: "7" },
		]);
		expect(await Array.fromAsync(pool.stream("GET /empty"))).toEqual([]);
		const text = await Array.fromAsync(pool.stream<string>("GET /text"));
		expect(text.join("")).toBe("grüezi");
	});

	test("reads a response as `body` says, whatever the server says", async () => {
		const { pool } = await pooled({ command, body: "ndjson" });
		expect(await pool.execute("GET /unlabelled")).toEqual([1, 2]);
	});

	test("sends its input line by line while the server reads it", async () => {
		const { pool } = await shared();
		const input = (async function* () {
			yield { n: 1 };
			yield "two";
		})();
		expect(await pool.execute("POST /lines", {}, { input })).toEqual([
			{ n: 1 },
			"two",
		]);
		await expect(
			pool.execute("POST /lines", {}, { input: [1, 2n] }),
		).rejects.toMatchObject({ code: "VALUE_NOT_TRANSFERABLE", ran: "maybe" });
		const failing = (function* () {
			yield 1;
			throw new Error("the file is gone");
		})();
		await expect(
			pool.execute("POST /lines", {}, { input: failing }),
		).rejects.toMatchObject({
			code: "INVALID_ARGUMENTS",
			ran: "maybe",
			message: expect.stringContaining("the file is gone"),
		});
	});

	test("with another status fails with it and the beginning of the body", async () => {
		const { pool } = await shared();
		const error = await pool.execute("POST /fail").catch((thrown) => thrown);
		expect(error).toMatchObject({
			code: "TOOL_FAILED",
			message:
				'"POST /fail" failed: HTTP 500 Internal Server Error: {"detail":"on purpose"}',
			remote: { type: "HTTP 500 Internal Server Error" },
		});
		expect(error.cause).toBeInstanceOf(HttpStatusError);
		expect(error.cause).toMatchObject({
			status: 500,
			body: '{"detail":"on purpose"}',
		});
		const long = await pool.execute("POST /fails-at-length").catch((e) => e);
		expect(long.cause.body).toHaveLength(65_536);
		expect(long.message.length).toBeLessThan(1_000);
	});

	test.each([
		["POST echo", {}, "TOOL_NOT_FOUND"],
		["post /echo", {}, "TOOL_NOT_FOUND"],
		["GET /url/{id}", {}, "INVALID_ARGUMENTS"],
		["GET /url/{id}", "7", "INVALID_ARGUMENTS"],
		["GET /url/{id}", { id: ".." }, "INVALID_ARGUMENTS"],
		["GET /url/{id}", { id: "" }, "INVALID_ARGUMENTS"],
		["GET /text", { deep: { a: 1 } }, "INVALID_ARGUMENTS"],
		["GET /text", new Map([["a", 1]]), "INVALID_ARGUMENTS"],
		["GET /text", [1], "INVALID_ARGUMENTS"],
		["POST /echo", { big: 1n }, "VALUE_NOT_TRANSFERABLE"],
		["POST /echo", "x".repeat(2_000), "MESSAGE_TOO_LARGE"],
	])("%s is refused before it is sent (row %$)", async (name, args, code) => {
		const { pool } = await small();
		await expect(pool.execute(name, args)).rejects.toMatchObject({
			code,
			ran: "no",
		});
	});

	test("whose response is too large, or no JSON, fails and leaves the worker usable", async () => {
		const { pool, events } = await small();
		await expect(pool.execute("GET /large")).rejects.toMatchObject({
			code: "RESULT_TOO_LARGE",
			ran: "maybe",
		});
		await expect(
			Array.fromAsync(pool.stream("POST /endless")),
		).rejects.toMatchObject({ code: "RESULT_TOO_LARGE" });
		await expect(pool.execute("GET /long-headers")).rejects.toMatchObject({
			code: "TOOL_FAILED",
			message: expect.stringContaining("Header overflow"),
		});
		await expect(pool.execute("GET /no-json")).rejects.toMatchObject({
			code: "TOOL_FAILED",
			remote: { type: "unreadable response" },
		});
		expect(await pool.execute("POST /echo", 1)).toEqual({ echoed: 1 });
		expect(events.filter(({ type }) => type === "worker.ready")).toHaveLength(
			1,
		);
	});

	test("whose response breaks off fails, and the server that runs on is kept", async () => {
		const { pool, events } = await shared();
		await expect(pool.execute("POST /broken")).rejects.toMatchObject({
			code: "TOOL_FAILED",
			ran: "maybe",
			remote: { type: "incomplete response" },
		});
		expect(await pool.execute("POST /echo", 1)).toEqual({ echoed: 1 });
		expect(events.filter(({ type }) => type === "worker.ready")).toHaveLength(
			1,
		);
	});
});

describe("a client", () => {
	test("is a fetch for one worker", async () => {
		const { pool } = await shared();
		await pool.use(async ({ fetch, origin }) => {
			const response = await fetch("/echo", {
				method: "POST",
				body: JSON.stringify({ n: 1 }),
			});
			expect(response.headers.get("content-type")).toBe("application/json");
			expect(await response.json()).toEqual({ echoed: { n: 1 } });
			expect((await fetch(`${origin}/empty`)).status).toBe(204);
			const form = new FormData();
			form.set("a", "b");
			const sent = await fetch("/same", { method: "POST", body: form });
			expect(await sent.text()).toContain('name="a"');
			await expect(fetch("http://example.com/")).rejects.toThrow(
				"reaches its worker at http://localhost alone",
			);
			const aborting = new AbortController();
			const endless = await fetch("/endless", {
				method: "POST",
				signal: aborting.signal,
			});
			const reader = endless.body?.getReader();
			await reader?.read();
			aborting.abort(new Error("enough"));
			await expect(
				(async () => {
					while (!(await reader?.read())?.done);
				})(),
			).rejects.toThrow("enough");
		});
	});

	test("is what the official client of OpenAI's interface takes", async () => {
		const { pool } = await shared();
		const words = await pool.use(async ({ fetch, origin }, { signal }) => {
			const baseURL = `${origin}/v1`;
			const openai = new OpenAI({ baseURL, apiKey: "none", fetch });
			const stream = await openai.chat.completions.create(
				{
					model: "local",
					messages: [{ role: "user", content: "one two" }],
					stream: true,
				},
				{ signal },
			);
			return await Array.fromAsync(
				stream,
				({ choices: [choice] }) => choice?.delta.content,
			);
		});
		expect(words).toEqual(["one", "two"]);
	});

	test("has the path of the socket, for code that connects itself", async () => {
		const { pool } = await shared();
		const status = await pool.use(
			({ socketPath }) =>
				new Promise((resolve) =>
					request({ socketPath, path: "/text" }, (response) => {
						response.resume();
						resolve(response.statusCode);
					}).end(),
				),
		);
		expect(status).toBe(200);
	});
});

test("the heartbeat asks a path for health, and the worker's facts say where it listens", async () => {
	const { pool } = await pooled({ command, health: "/text", ready: "/text" });
	expect(pool.workers()).toMatchObject([
		{ facts: { listens: expect.stringMatching(/^unix:\/.*\/http$/) } },
	]);
});

test("a program accepts on a socket that listened before it began", async () => {
	const { pool, events } = await pooled({
		command: node(),
		env: { LISTEN_FD: "{fd}" },
		listen: "inherited",
	});
	const pid = pool.workers()[0]?.pid ?? 0;
	expect(await pool.execute("GET /text")).toBe("grüezi");
	const call = pool.execute("POST /sleep").catch((error: unknown) => error);
	await begun(events);
	process.kill(pid, "SIGKILL");
	expect(await call).toMatchObject({ code: "WORKER_EXITED", ran: "maybe" });
	expect(await pool.execute("GET /text")).toBe("grüezi");
	expect(pool.workers()[0]?.pid).not.toBe(pid);
});

test("a start that takes too long says how the path of `ready` was answered", async () => {
	const records: string[] = [];
	await expect(
		pooled(
			{ command, ready: "/nowhere" },
			{
				start: { timeoutMs: 2_000, maxRestarts: 0 },
				onEvent: (event) => {
					if (event.type === "worker.logged")
						records.push(event.record.message);
				},
			},
		),
	).rejects.toMatchObject({ code: "START_TIMEOUT" });
	expect(records).toEqual([
		"GET /nowhere is answered with 404: the worker takes calls when it is 2xx.",
	]);
});

test("a response may take longer than an idle connection is kept", async () => {
	const { pool } = await shared();
	expect(await pool.execute("GET /slow")).toBe("at last");
});

test("a program is ready when it prints the line", async () => {
	const { pool } = await pooled({
		command: node("{port}"),
		listen: "tcp",
		ready: { fromLine: /^listening on/ },
	});
	expect(await pool.execute("GET /text")).toBe("grüezi");
});

test.each([
	[{}, '"command" must be an array of strings'],
	[{ command: ["x", "{socket}"], redy: "/" }, 'Did you mean "ready"?'],
	[{ command: ["x"], listen: "udp" }, '"listen" must be "unix", "inherited"'],
	[{ command: ["x"], listen: { fromLine: /on (\d+)/ } }, 'a group "url"'],
	[{ command: ["x", "{socket}"], ready: "health" }, "begins with /"],
] as const)("%j is refused", (options, message) => {
	expect(() => http(options as never)).toThrow(message);
});

test.each([
	[{ command: ["x"] }, "put {socket} into"],
	[{ command: ["x", "{port}"] }, '{port} has no value with listen: "unix"'],
	[
		{ command: ["x", "{port}"], listen: { fromLine: /(?<port>\d+)/ } },
		"has no placeholder",
	],
	[{ command: ["x"], env: { PORT: "{port}" }, listen: "inherited" }, "{fd}"],
] as const)("%j is refused for its placeholders", (options, message) => {
	expect(() => http(options)).toThrow(message);
	const { command, ...more } = options;
	const adapter = http({ ...more, command: () => command });
	const slot = { directory: "/nowhere" } as never;
	const signal = new AbortController().signal;
	expect(() => adapter.launch(slot, signal)).toThrow(message);
});
