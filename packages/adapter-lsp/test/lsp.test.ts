import { describe, expect, test } from "vitest";
import {
	DidChangeTextDocumentNotification,
	DidOpenTextDocumentNotification,
} from "vscode-languageserver-protocol/node";
import { testPool } from "../../../scripts/test-pool.ts";
import { DocumentStore } from "../src/documents.ts";
import { type LspOptions, lsp } from "../src/index.ts";
import { SERVERS } from "./servers.ts";

const { tiny } = SERVERS;

const uri = "file:///srv/a.txt";
const document = { uri, languageId: "text", version: 1, text: "one\ntwo" };

describe("a pool of servers", () => {
	async function pooled(options: Partial<LspOptions> = {}, size = 1) {
		const adapter = lsp({ ...tiny, ...options });
		const { documents } = adapter;
		return { documents, ...(await testPool({ adapter, size })) };
	}

	test("introduces this program to its server, and shows name and capabilities of the server", async () => {
		const workspaceFolders = ["file:///srv/my%20project"];
		const { pool } = await pooled({
			workspaceFolders,
			initializationOptions: { strict: true },
			capabilities: { general: { positionEncodings: ["utf-8"] } },
		});
		expect(pool.workers()[0]?.facts).toMatchObject({
			server: { name: "tiny", version: "1" },
			capabilities: {
				hoverProvider: true,
				experimental: {
					initializationOptions: { strict: true },
					workspaceFolders: [{ uri: workspaceFolders[0], name: "my project" }],
					capabilities: { general: { positionEncodings: ["utf-16"] } },
				},
			},
		});
	});

	test("hands on what its server says, and its log", async () => {
		const { pool, events } = await pooled();
		await pool.execute("tiny/log");
		expect(events.of("worker.notified")).toMatchObject([
			{ notification: "tiny/news", data: { what: "announced" } },
		]);
		expect(events.of("worker.logged")).toMatchObject([
			{ record: { level: "warning", message: "careful" } },
		]);
	});

	test("answers what its server asks: by a handler, neutrally, or with a refusal", async () => {
		const folder = "file:///srv/project";
		const { pool } = await pooled({
			workspaceFolders: [folder],
			handlers: { "workspace/applyEdit": ({ label }) => ({ applied: label }) },
		});
		const ask = (method: string, params: object = {}) =>
			pool.execute("tiny/ask", { method, params });
		expect(await ask("workspace/applyEdit", { label: "mine" })).toEqual({
			applied: "mine",
		});
		expect(await ask("workspace/configuration", { items: [{}, {}] })).toEqual([
			null,
			null,
		]);
		expect(await ask("workspace/workspaceFolders")).toEqual([
			{ uri: folder, name: "project" },
		]);
		for (const method of [
			"client/registerCapability",
			"window/workDoneProgress/create",
			"workspace/inlayHint/refresh",
		])
			expect(await ask(method)).toBeNull();
		expect(await ask("tiny/unheardOf")).toMatchObject({ code: -32601 });
	});

	test("aborts what a handler does for a server that is gone, or that cancels it", async () => {
		const aborted: string[] = [];
		const begun = Promise.withResolvers<void>();
		const { pool } = await pooled({
			handlers: {
				"tiny/never": ({ name }, { signal }) =>
					new Promise((resolve) => {
						const end = () => {
							aborted.push(name);
							resolve(null);
						};
						// The cancellation of a request may be read before the request is handled.
						if (signal.aborted) end();
						else signal.addEventListener("abort", end);
						if (name === "gone") begun.resolve();
					}),
			},
		});
		await pool.execute("tiny/askAndCancel", {
			...{ method: "tiny/never", params: { name: "cancelled" } },
		});
		expect(aborted).toEqual(["cancelled"]);
		const call = pool
			.execute("tiny/ask", { method: "tiny/never", params: { name: "gone" } })
			.catch((error: unknown) => error);
		await begun.promise;
		process.kill(pool.workers()[0]?.pid ?? 0, "SIGKILL");
		expect(await call).toMatchObject({ code: "WORKER_EXITED" });
		expect(aborted).toEqual(["cancelled", "gone"]);
	});

	test("reports an error of its server, and refuses what is no params", async () => {
		const { pool } = await pooled();
		await expect(pool.execute("tiny/fail")).rejects.toMatchObject({
			code: "TOOL_FAILED",
			remote: { type: "LSP error -32803", message: "on purpose" },
		});
		await expect(pool.execute("tiny/none")).rejects.toMatchObject({
			code: "TOOL_NOT_FOUND",
		});
		await expect(pool.execute("tiny/echo", 5)).rejects.toMatchObject({
			code: "INVALID_ARGUMENTS",
		});
		await expect(pool.execute("tiny/echo", { n: 1n })).rejects.toMatchObject({
			code: "VALUE_NOT_TRANSFERABLE",
		});
	});

	test("refuses what is too large, and replaces a server that sends what is", async () => {
		const { pool } = await pooled({ maxMessageBytes: 10_000 });
		await expect(
			pool.execute("tiny/echo", { text: "x".repeat(20_000) }),
		).rejects.toMatchObject({ code: "MESSAGE_TOO_LARGE", ran: "no" });
		const before = pool.workers()[0]?.pid;
		await expect(
			pool.use((connection) =>
				connection.sendRequest("tiny/echo", { text: "x".repeat(20_000) }),
			),
		).rejects.toThrow("more than 10000 (maxMessageBytes)");
		expect(await pool.execute("tiny/flood", { bytes: 5_000 })).toHaveLength(
			5_000,
		);
		expect(pool.workers()[0]?.pid).toBe(before);
		await expect(
			pool.execute("tiny/flood", { bytes: 20_000 }),
		).rejects.toMatchObject({
			code: "WORKER_EXITED",
			message: expect.stringContaining("more than 10000 (maxMessageBytes)"),
		});
		expect(await pool.execute("tiny/flood", { bytes: 3 })).toBe("xxx");
	});

	test("has the same documents open in all servers, however they were opened", async () => {
		const { pool, documents } = await pooled({}, 2);
		documents.open(document);
		documents.change(uri, "three\nfour");
		const other = "file:///srv/b.txt";
		await pool.use(async (connection) => {
			await connection.sendNotification(DidOpenTextDocumentNotification.type, {
				textDocument: { ...document, uri: other },
			});
			await connection.sendNotification(
				DidChangeTextDocumentNotification.type,
				{
					textDocument: { uri, version: 5 },
					contentChanges: [
						{
							range: {
								start: { line: 1, character: 1 },
								end: { line: 1, character: 3 },
							},
							text: "UNG",
						},
					],
				},
			);
		});
		const expected = {
			[uri]: { languageId: "text", version: 5, text: "three\nfUNGr" },
			[other]: { languageId: "text", version: 1, text: "one\ntwo" },
		};
		expect(
			await Promise.all([1, 2].map(() => pool.execute("tiny/documents"))),
		).toEqual([expected, expected]);
		documents.close(other);
		expect(documents.uris()).toEqual([uri]);
		expect(await pool.execute("tiny/documents")).toEqual({
			[uri]: expected[uri],
		});
	});

	test("opens the documents, as they are by then, in the successor of a server that crashes", async () => {
		const { pool, documents } = await pooled();
		documents.open(document);
		documents.change(uri, "changed");
		await expect(pool.execute("tiny/crash")).rejects.toMatchObject({
			code: "WORKER_EXITED",
		});
		documents.change(uri, "while there was none");
		expect(await pool.execute("tiny/documents")).toEqual({
			[uri]: { languageId: "text", version: 3, text: "while there was none" },
		});
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

	test("replaces a server when a lease disposes of its connection", async () => {
		const { pool } = await pooled();
		const before = pool.workers()[0]?.pid;
		await pool.use((connection) => connection.dispose());
		await pool.execute("tiny/echo");
		expect(pool.workers()[0]?.pid).not.toBe(before);
	});
});

test("a document that could not be sent to a server as one message is refused, and stays as it was", () => {
	const { documents } = lsp({ ...tiny, maxMessageBytes: 2_048 });
	const uri = "file:///a";
	const open = (text: string) =>
		documents.open({ uri, languageId: "plain", version: 1, text });
	expect(() => open("x".repeat(2_048))).toThrow("maxMessageBytes");
	// As JSON, a line break takes two bytes.
	expect(() => open("\n".repeat(1_024))).toThrow("maxMessageBytes");
	expect(documents.uris()).toEqual([]);
	open("x".repeat(1_024));
	expect(() => documents.change(uri, "x".repeat(2_048))).toThrow(
		"more than 2048",
	);
	documents.close(uri);
});

test("documents that are not open, are open already, or have too much text are refused, and change nothing", () => {
	const documents = new DocumentStore(undefined, 1_024);
	expect(() => documents.close(uri)).toThrow(`${uri} is not open`);
	expect(() => documents.change(uri, "")).toThrow(`${uri} is not open`);
	documents.open(document);
	expect(() => documents.open(document)).toThrow(`${uri} is open already`);
	expect(() => documents.change(uri, "x".repeat(1_024))).toThrow(
		"would have 1041 bytes, more than 1024. Close some.",
	);
	expect(() =>
		documents.open({ ...document, uri: "b", text: "x".repeat(1_000) }),
	).toThrow("Close some");
	expect(documents.uris()).toEqual([uri]);
	documents.close(uri);
	documents.open({ ...document, text: "x".repeat(1_000) });
});

test.each([
	[{}, '"command" must be an array of strings'],
	[
		{ command: ["x"], workspaceFolders: ["/srv"] },
		'"workspaceFolders" must be an array of URIs',
	],
	[{ command: ["x"], handler: {} }, 'Did you mean "handlers"?'],
] as const)("%j is refused", (options, message) => {
	expect(() => lsp(options as never)).toThrow(message);
});
