import { AsyncResource } from "node:async_hooks";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { startForReal } from "@snakepit/core/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { rounds } from "../../../scripts/test-effort.ts";
import { HttpStatusError, http } from "../src/index.ts";
import { node, pooled, sharedPool } from "./pooled.ts";

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
		// As in a test that runs in Jest.
		const others = runInNewContext("new Uint8Array([0, 255, 10])");
		for (const each of [bytes, others])
			expect(await pool.execute("POST /same", each)).toEqual(
				Buffer.from(bytes),
			);
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

	test("carries the caller's trace in its headers", async () => {
		const worker = await startForReal(http({ command }));
		onTestFinished(() => worker.stop());
		const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
		const call = {
			...{ callId: "1", signal: new AbortController().signal },
			...{ timeoutMs: undefined, sessionId: undefined, input: undefined },
			context: new AsyncResource("test"),
			traceContext: { traceparent },
		};
		const { execute } = worker.connection;
		const headers = await execute("GET /headers", undefined, call);
		expect(headers).toMatchObject({ traceparent });
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
		["GET /url/{id}", { id: "\ud800" }, "INVALID_ARGUMENTS"],
		["GET /text", { half: "\ud800" }, "INVALID_ARGUMENTS"],
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
		expect(events.of("worker.ready")).toHaveLength(1);
	});

	test("whose response breaks off fails, and the server that runs on is kept", async () => {
		const { pool, events } = await shared();
		await expect(pool.execute("POST /broken")).rejects.toMatchObject({
			code: "TOOL_FAILED",
			ran: "maybe",
			remote: { type: "incomplete response" },
		});
		expect(await pool.execute("POST /echo", 1)).toEqual({ echoed: 1 });
		expect(events.of("worker.ready")).toHaveLength(1);
	});
});

test("after a status of 5xx the next call has a connection of its own", async () => {
	const { pool } = await shared();
	await expect(pool.execute("POST /fail-last")).rejects.toMatchObject({
		code: "TOOL_FAILED",
	});
	expect(await pool.execute("POST /echo", 1)).toEqual({ echoed: 1 });
});

test("a response may take longer than an idle connection is kept", async () => {
	const { pool } = await shared();
	expect(await pool.execute("GET /slow")).toBe("at last");
});

const silent = [
	process.execPath,
	join(import.meta.dirname, "programs/closes-silently.mjs"),
	"{socket}",
];

test("a request that must not be sent twice succeeds right after another one, at a server that closes its connections without saying so", async () => {
	const { pool } = await pooled({ command: silent });
	for (let round = 0; round < rounds(200, 20); round++) {
		expect(await pool.execute("GET /")).toBeNull();
		expect(await pool.execute("POST /", { round })).toEqual({ round });
		expect(await pool.execute("POST /", [round])).toEqual([round]);
	}
});

test("requests with a body share a connection at a server that keeps it", async () => {
	const { pool } = await pooled({ command: node("{socket}") });
	// The second one shows that the server keeps the connection of the first one.
	await pool.execute("GET /text");
	await pool.execute("GET /text");
	const before = await pool.execute("GET /connections");
	for (let round = 0; round < 20; round++)
		await pool.execute("POST /echo", round);
	expect(await pool.execute("GET /connections")).toBe(before);
});
