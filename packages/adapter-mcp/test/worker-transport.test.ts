import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { StartReport, WorkerProcess } from "@snakepit/core/adapter";
import { expect, test } from "vitest";
import { mcp } from "../src/index.ts";
import { WorkerTransport } from "../src/worker-transport.ts";

/** More than the SDK keeps of what was not yet a message. */
const TOO_MUCH = 11 * 2 ** 20;

/** A connection to a server that the test plays. */
async function connected() {
	const [stdin, stdout] = [new PassThrough(), new PassThrough()];
	const broken: string[] = [];
	const transport = new WorkerTransport({
		...{ stdin, stdout, exited: new Promise(() => {}) },
		broken: ({ message }) => broken.push(message),
	});
	const received: JSONRPCMessage[] = [];
	transport.onmessage = (message) => received.push(message);
	await transport.start();
	/** The server writes, as fast as it is read. */
	const write = async (text: string) => {
		if (!stdout.write(text)) await once(stdout, "drain");
	};
	return { transport, stdin, stdout, received, broken, write };
}

test("a message that is longer than the SDK takes ends the conversation, and not this program", async () => {
	const { transport, received, broken, write } = await connected();
	const closed = new Promise<void>((resolve) => {
		transport.onclose = resolve;
	});
	const errors: string[] = [];
	transport.onerror = ({ message }) => errors.push(message);
	const part = "x".repeat(2 ** 16);
	for (let sent = 0; sent < TOO_MUCH; sent += part.length) await write(part);
	await closed;
	expect(broken).toEqual([expect.stringMatching(/too long.*10485760/)]);
	expect(errors).toEqual(broken);
	// What comes later is read, or the server could not end, and is dropped.
	await write('\n{"jsonrpc":"2.0","method":"late"}\n');
	expect(received).toEqual([]);
});

test("a server that reports faster than reports are delivered waits, and loses none", async () => {
	const { received, broken, write } = await connected();
	const report = `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { text: "x".repeat(8_000) } })}\n`;
	const reports = Math.ceil(TOO_MUCH / report.length);
	// As a pipe brings them: several at once.
	for (let sent = 0; sent < reports; sent += 8) await write(report.repeat(8));
	while (received.length < reports && broken.length === 0) await nextTurn();
	expect(broken).toEqual([]);
	expect(received.length).toBeGreaterThanOrEqual(reports);
});

test("a message for which the server's input has no room leaves no listeners", async () => {
	const { transport, stdin } = await connected();
	const before = stdin.listenerCount("close");
	const params = { text: "x".repeat(100_000) };
	for (let sent = 0; sent < 3; sent++) {
		const sending = transport.send({ jsonrpc: "2.0", method: "m", params });
		stdin.read();
		await sending;
	}
	for (const event of ["drain", "error"])
		expect(stdin.listenerCount(event)).toBeLessThanOrEqual(1);
	expect(stdin.listenerCount("close")).toBe(before);
});

test("a message is one line for servers that read with `readline`", async () => {
	const { transport, stdin } = await connected();
	const params = { text: "a\u2028b\u2029c" };
	await transport.send({ jsonrpc: "2.0", method: "m", params });
	const line = String(stdin.read());
	expect(line).not.toMatch(/[\u2028\u2029]/);
	expect(JSON.parse(line).params).toEqual(params);
});

test.each<[string, object, string]>([
	["an error without a code", { error: { message: "full" } }, "full"],
	["an error that is a text", { error: "full" }, "full"],
	["neither a result nor an error", {}, "no valid answer"],
])("an answer with %s settles its request", async (_, answer, message) => {
	const { transport, received, write } = await connected();
	const errors: Error[] = [];
	transport.onerror = (error) => errors.push(error);
	await write(`${JSON.stringify({ jsonrpc: "2.0", id: 7, ...answer })}\n`);
	while (received.length === 0) await nextTurn();
	expect(received).toEqual([
		{
			...{ jsonrpc: "2.0", id: 7 },
			error: { code: -32603, message: expect.stringContaining(message) },
		},
	]);
	expect(errors).toHaveLength(1);
});

test("a start reports which answer it waits for, and the line that a server printed before it", async () => {
	const [stdin, stdout] = [new PassThrough(), new PassThrough()];
	const reports: StartReport[] = [];
	const starting = (report: StartReport) => reports.push(report);
	const process = { stdin, stdout, starting, exited: new Promise(() => {}) };
	stdout.write("Welcome to the server!\n");
	const connecting = mcp({ command: ["unused"] }).connect(
		{ ...process, log: () => {} } as Partial<WorkerProcess> as WorkerProcess,
		new AbortController().signal,
	);
	stdout.end();
	await expect(connecting).rejects.toThrow();
	expect(reports).toEqual([
		{ awaits: 'the answer to "initialize"' },
		{ stray: "Welcome to the server!" },
	]);
});

test("a server that had ended its output before anyone listened has closed the connection", async () => {
	const stdout = Readable.from([]);
	stdout.resume();
	await once(stdout, "end");
	const transport = new WorkerTransport({
		stdin: new PassThrough(),
		stdout,
		exited: new Promise(() => {}),
		broken: () => {},
	});
	await new Promise<void>((resolve) => {
		transport.onclose = resolve;
	});
	await expect(
		transport.send({ jsonrpc: "2.0", method: "ping", id: 1 }),
	).rejects.toThrow("no longer reads");
});
