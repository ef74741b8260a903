import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createPool, ToolError } from "@snakepit/core";
import { afterAll, describe, expect, test } from "vitest";
import {
	call,
	failureOf,
	streamOf,
} from "../../adapter-python/test/support/calls.ts";
import { scratch } from "../../adapter-python/test/support/fake-python.ts";
import {
	type AtEnd,
	startPythonWorker,
	type TestWorker,
} from "../../adapter-python/test/support/python-worker.ts";
import {
	PYTHON,
	toolsFile,
} from "../../adapter-python/test/support/pythons.ts";
import { pythonGrpc } from "../src/index.ts";

// One of each frame: that it crosses as a message. What workers do with it is tested over the framed transport.

const TOOLS = toolsFile("bench.py");

describe("over gRPC", () => {
	const ends: Parameters<AtEnd>[0][] = [];
	let started: Promise<TestWorker> | undefined;
	const worker = (): Promise<TestWorker> => {
		started ??= startPythonWorker(
			pythonGrpc({
				tools: TOOLS,
				python: PYTHON,
				transport: "grpc",
				hostFunctions: { twice: (number: number) => 2 * number },
			}),
			{},
			(end) => ends.push(end),
		);
		return started;
	};
	afterAll(async () => {
		expect((await started)?.brokenBy).toEqual([]);
		for (const end of ends.reverse()) await end();
	});

	test("a call is answered, by name and by position, with options and without", async () => {
		const { connection } = await worker();
		expect(await call(connection, "add", { a: 2, b: 3 })).toBe(5);
		expect(await call(connection, "add", [2, 3], { timeoutMs: 60_000 })).toBe(
			5,
		);
		expect(await call(connection, "echo")).toBe(null);
	});

	test("a tool's exception has its type, its stack and its cause", async () => {
		const { connection } = await worker();
		const error = await failureOf(call(connection, "fail"));
		expect(error).toBeInstanceOf(ToolError);
		const { remote } = error as ToolError;
		expect(remote.frames?.at(-1)?.function).toBe("fail");
		expect(remote.traceback).toContain("Traceback");
	});

	test("a refusal says why, and where", async () => {
		const { connection } = await worker();
		expect(await failureOf(call(connection, "nothing"))).toMatchObject({
			code: "TOOL_NOT_FOUND",
			ran: "no",
		});
		expect(
			await failureOf(call(connection, "add", { a: "one" })),
		).toMatchObject({ code: "INVALID_ARGUMENTS", path: "$.a" });
	});

	test("a stream has its chunks and its result, with credit", async () => {
		const { connection } = await worker();
		const stream = streamOf(connection, "count_and_total", { below: 500 });
		const chunks: unknown[] = [];
		let step = await stream.next();
		for (; !step.done; step = await stream.next()) chunks.push(step.value);
		expect(chunks).toEqual(Array.from({ length: 500 }, (_, i) => i));
		expect(step.value).toEqual({ total: 124_750 });
	});

	test("reports of progress come, and the answer after them", async () => {
		const { connection } = await worker();
		const reports: unknown[] = [];
		const answer = call(
			connection,
			"report",
			{},
			{
				onProgress: async (progress) => {
					reports.push(progress);
				},
			},
		);
		expect(await answer).toBe("reported");
		expect(reports.at(-1)).toEqual({ fraction: 1, message: "whole" });
	});

	test("large values cross beside their frames", async () => {
		const { connection } = await worker();
		const data = new Uint8Array(3_000_000).fill(7);
		expect(await call(connection, "echo", [data])).toEqual(data);
	});

	test("a function of the host answers", async () => {
		const { connection } = await worker();
		expect(await call(connection, "ask", ["twice", 21])).toBe(42);
	});
});

test("calls are prefetched, and one that is cancelled while it waits is recalled", async () => {
	const tools = join(scratch(), "tools.py");
	writeFileSync(
		tools,
		`from snakepit_bridge import tool
import time
ran = []
@tool
def wait(name: str, seconds: float) -> list[str]:
    ran.append(name)
    time.sleep(seconds)
    return ran
`,
	);
	await using pool = await createPool({
		adapter: pythonGrpc({ tools, python: PYTHON, transport: "grpc" }),
		size: 1,
		dataDir: scratch(),
	});
	const abort = new AbortController();
	const first = pool.execute("wait", ["first", 0.5]);
	const second = failureOf(
		pool.execute("wait", ["second", 0], { signal: abort.signal }),
	);
	const third = pool.execute("wait", ["third", 0]);
	abort.abort();
	expect(await second).toMatchObject({ ran: "no" });
	expect(await first).toEqual(["first"]);
	expect(await third).toEqual(["first", "third"]);
});

test("a wrong token is UNAUTHENTICATED", async () => {
	const token = "0".repeat(64);
	const adapter = pythonGrpc({
		tools: TOOLS,
		python: PYTHON,
		transport: "grpc",
	});
	const error = await failureOf(startPythonWorker(adapter, { token }));
	expect(error).toMatchObject({ code: "CONNECT_FAILED", ran: "no" });
	expect(String(error)).toContain("UNAUTHENTICATED");
	expect(String(error)).not.toContain(token);
});

test("a Python without grpcio is named with the command that installs it", async () => {
	const hiding = scratch();
	writeFileSync(
		join(hiding, "grpc.py"),
		"raise ModuleNotFoundError(\"No module named 'grpc'\")\n",
	);
	const adapter = pythonGrpc({
		tools: TOOLS,
		python: PYTHON,
		transport: "grpc",
		env: { PYTHONPATH: hiding },
	});
	const error = (await failureOf(
		createPool({ adapter, size: 1, dataDir: scratch() }),
	)) as Error;
	expect(String(error)).toContain("No module named 'grpc'");
	expect(String(error)).toContain(
		'-m pip install --upgrade "snakepit-bridge[grpc]"',
	);
});
