import { once } from "node:events";
import { PassThrough, Readable, Writable } from "node:stream";
import { contentLengthFraming } from "@snakepit/adapter-stdio/adapter";
import type { StartReport, WorkerProcess } from "@snakepit/core/adapter";
import { expect, test } from "vitest";
import { LspConversation } from "../src/conversation.ts";
import { DocumentStore } from "../src/documents.ts";

function conversation(
	stdin: Writable,
	stdout: Readable,
	documents: DocumentStore,
	starting: WorkerProcess["starting"] = () => {},
): LspConversation {
	const process = { stdin, stdout, exited: new Promise(() => {}), starting };
	return new LspConversation(
		process as Partial<WorkerProcess> as WorkerProcess,
		{ command: ["unused"] },
		documents,
	);
}

test("a server that had ended its output before anyone listened is not waited for", async () => {
	const stdout = Readable.from([]);
	stdout.resume();
	await once(stdout, "end");
	const documents = new DocumentStore();
	const started = conversation(new PassThrough(), stdout, documents);
	await expect(started.initialize(documents)).rejects.toThrow();
});

test("a server that ends when it gets the initialized message gets no documents", async () => {
	const stdout = new PassThrough();
	/** Calls back when the server has read the message. */
	const reads: (() => void)[] = [];
	const written: string[] = [];
	const stdin = new Writable({
		write: (chunk, _encoding, done) => {
			written.push(String(chunk));
			reads.push(done);
			stdin.emit("message");
		},
	});
	const documents = new DocumentStore();
	const started = conversation(stdin, stdout, documents);
	const asked = once(stdin, "message");
	const initialized = started.initialize(documents);
	await asked;
	const told = once(stdin, "message");
	reads.shift()?.();
	const answer = { jsonrpc: "2.0", id: 0, result: { capabilities: {} } };
	stdout.write(contentLengthFraming.frame(JSON.stringify(answer)));
	await told;
	stdout.end();
	await once(stdout, "end");
	reads.shift()?.();
	await expect(initialized).rejects.toThrow("it has ended its output");
	documents.open({ uri: "a:b", languageId: "c", version: 1, text: "d" });
	expect(written).toHaveLength(2);
});

test("a start reports which answer it waits for, and the line that a server printed before it", async () => {
	const reports: StartReport[] = [];
	const [stdout, documents] = [new PassThrough(), new DocumentStore()];
	const started = conversation(new PassThrough(), stdout, documents, (report) =>
		reports.push(report),
	);
	stdout.write("Welcome to the server!\n");
	const initialized = started.initialize(documents);
	stdout.end();
	await expect(initialized).rejects.toThrow();
	expect(reports).toEqual(
		expect.arrayContaining([
			{ awaits: 'the answer to "initialize"' },
			{ stray: "Welcome to the server!" },
		]),
	);
});

test("a request after the end certainly did not run", async () => {
	const documents = new DocumentStore();
	const ended = conversation(new PassThrough(), new PassThrough(), documents);
	ended.end("its conversation was closed");
	const { signal } = new AbortController();
	await expect(
		ended.request("textDocument/hover", {}, { signal }),
	).rejects.toMatchObject({
		ran: "no",
		message: "its conversation was closed",
	});
});

test("a server that does not read is replaced before its messages fill the memory", async () => {
	const [stdin, stdout] = [new PassThrough(), new PassThrough()];
	const documents = new DocumentStore(10_000);
	const broken: string[] = [];
	const deaf = new LspConversation(
		{
			...{ stdin, stdout, exited: new Promise(() => {}) },
			starting: () => {},
			broken: ({ message }: Error) => broken.push(message),
		} as Partial<WorkerProcess> as WorkerProcess,
		{ command: ["unused"], maxMessageBytes: 10_000 },
		documents,
	);
	const initialized = deaf.initialize(documents);
	const answer = { jsonrpc: "2.0", id: 0, result: { capabilities: {} } };
	stdout.write(contentLengthFraming.frame(JSON.stringify(answer)));
	await initialized;
	documents.open({ uri: "a:b", languageId: "c", version: 1, text: "" });
	for (let version = 2; version < 100; version++)
		documents.change("a:b", "x".repeat(5_000));
	expect(stdin.readableLength + stdin.writableLength).toBeLessThan(100_000);
	expect(broken).toEqual([expect.stringContaining("does not read its input")]);
});
