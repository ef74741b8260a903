import {
	CallAbortedError,
	CallTimeoutError,
	InputError,
	ToolError,
} from "@snakepit/core";
import { ConnectionBrokenError } from "@snakepit/core/adapter";
import { expect, test } from "vitest";
import { sharedBench, startBench } from "../support/bench.ts";
import { call, failureOf } from "../support/calls.ts";

const worker = sharedBench();

test("a call is answered with what the tool returns", async () => {
	const { connection } = await worker();
	expect(await call(connection, "add", { a: 2, b: 3 })).toBe(5);
	expect(await call(connection, "add", [2, 3])).toBe(5);
	expect(await call(connection, "echo")).toBe(null);
});

test("calls run at once up to the worker's number, and each gets its own answer", async () => {
	const { connection } = await startBench({}, { callsPerWorker: 4 });
	const abort = new AbortController();
	const hanging = [
		call(connection, "hang_async", {}, { signal: abort.signal }),
		call(connection, "hang_async", {}, { signal: abort.signal }),
	].map(failureOf);
	const sums = Array.from({ length: 50 }, (_, a) =>
		call(connection, "add", { a }),
	);
	expect(await Promise.all(sums)).toEqual(sums.map((_, a) => a + 1));
	abort.abort();
	for (const error of await Promise.all(hanging))
		expect(error).toBeInstanceOf(CallAbortedError);
});

test("an unknown tool is refused before anything ran", async () => {
	const { connection } = await worker();
	const error = await failureOf(call(connection, "ad"));
	expect(error).toBeInstanceOf(InputError);
	expect(error).toMatchObject({ code: "TOOL_NOT_FOUND", ran: "no" });
	expect(String(error)).toContain('"ad"');
	expect(String(error)).toContain("add");
});

test("a wrong argument is named by its path, with the type that is expected", async () => {
	const { connection } = await worker();
	const error = await failureOf(call(connection, "add", { a: "one" }));
	expect(error).toMatchObject({
		code: "INVALID_ARGUMENTS",
		ran: "no",
		path: "$.a",
	});
	expect(String(error)).toContain("int");
});

test("arguments that are neither an object nor an array are refused here", async () => {
	const { connection } = await worker();
	expect(await failureOf(call(connection, "add", 5))).toMatchObject({
		code: "INVALID_ARGUMENTS",
		ran: "no",
	});
});

test("an argument that cannot cross is named by its path, and nothing is lost", async () => {
	const { connection } = await worker();
	const value = { images: [{}, { label: () => 1 }] };
	const error = await failureOf(call(connection, "echo", { value }));
	expect(error).toMatchObject({
		code: "VALUE_NOT_TRANSFERABLE",
		ran: "no",
		path: "$.value.images[1].label",
	});
	expect(await call(connection, "echo", { value: 1 })).toBe(1);
});

test("a result that cannot cross is named by its path, and nothing is lost", async () => {
	const { connection } = await worker();
	const error = await failureOf(call(connection, "bad_result"));
	expect(error).toMatchObject({
		code: "VALUE_NOT_TRANSFERABLE",
		ran: "maybe",
		path: "$.items[1]",
	});
	expect(await call(connection, "echo", { value: 1 })).toBe(1);
});

test("a message over the limit is refused before it is sent, and nothing is lost", async () => {
	const { connection } = await startBench({
		maxMessageBytes: 1024 * 1024,
		sharedMemory: "off",
	});
	const value = new Uint8Array(1024 * 1024);
	const error = await failureOf(call(connection, "echo", { value }));
	expect(error).toMatchObject({
		code: "MESSAGE_TOO_LARGE",
		ran: "no",
		message: expect.stringMatching(/of (more than )?\d+ bytes.*limit of \d+/),
	});
	expect(String(error)).toContain("maxMessageBytes");
	expect(await call(connection, "echo", { value: 1 })).toBe(1);
});

test("a result over the limit is reported with its size, and nothing is lost", async () => {
	const { connection } = await startBench({
		maxMessageBytes: 1024 * 1024,
		sharedMemory: "off",
	});
	const size = 2 * 1024 * 1024;
	const error = await failureOf(call(connection, "large", { size }));
	expect(error).toMatchObject({ code: "RESULT_TOO_LARGE", ran: "maybe" });
	expect(await call(connection, "large", { size: 1_000_000 })).toHaveLength(
		1_000_000,
	);
});

test("what a tool raises arrives with its type, message, traceback and cause", async () => {
	const { connection } = await worker();
	const error = await failureOf(call(connection, "fail"));
	expect(error).toBeInstanceOf(ToolError);
	const { message, ran, remote } = error as ToolError;
	expect(message).toContain("test-0");
	expect(message).toContain("ValueError: no such picture");
	expect(ran).toBe("maybe");
	expect(remote).toMatchObject({
		type: "ValueError",
		message: "no such picture",
		cause: { type: "KeyError" },
	});
	expect(remote.traceback).toContain("bench.py");
	expect(remote.frames?.at(-1)).toMatchObject({ function: "fail" });
});

test.each(["hang", "hang_async"])(
	"an abort ends the tool %s and frees the worker",
	async (command) => {
		const { connection } = await worker();
		const abort = new AbortController();
		const failure = failureOf(
			call(connection, command, {}, { signal: abort.signal }),
		);
		const reason = new Error("the caller went away");
		abort.abort(reason);
		expect(await failure).toBeInstanceOf(CallAbortedError);
		expect(await failure).toMatchObject({ cause: reason });
		expect(await call(connection, "add", { a: 1 })).toBe(2);
	},
);

test("a call that is aborted already is not sent", async () => {
	const { connection } = await worker();
	const signal = AbortSignal.abort();
	expect(
		await failureOf(call(connection, "hang", {}, { signal })),
	).toMatchObject({ code: "CALL_ABORTED", ran: "no" });
});

test("a deadline that passes reaches the tool as one", async () => {
	const { connection } = await worker();
	const abort = new AbortController();
	const failure = failureOf(
		call(connection, "hang", {}, { signal: abort.signal }),
	);
	abort.abort(
		new CallTimeoutError({ code: "CALL_TIMEOUT", ran: "maybe", message: "" }),
	);
	expect(await failure).toBeInstanceOf(CallAbortedError);
	expect(
		await call(connection, "remaining", {}, { timeoutMs: 60_000 }),
	).toBeGreaterThan(1);
	expect(await call(connection, "remaining")).toBe(null);
});

test("the death of the worker ends its calls, and the pool is notified once", async () => {
	const { connection, kill, brokenBy, process } = await startBench(
		{},
		{ callsPerWorker: 2 },
	);
	const hanging = () => {
		const begun = Promise.withResolvers<void>();
		const onProgress = async () => begun.resolve();
		const error = failureOf(call(connection, "hang_aloud", {}, { onProgress }));
		return { begun: begun.promise, error };
	};
	const calls = [hanging(), hanging()];
	await Promise.all(calls.map(({ begun }) => begun));
	kill();
	await process.exited;
	for (const error of await Promise.all(calls.map(({ error }) => error))) {
		expect(error).toBeInstanceOf(ConnectionBrokenError);
		expect(error).toMatchObject({ ran: "maybe" });
	}
	expect(brokenBy).toHaveLength(1);
	expect(await failureOf(call(connection, "echo"))).toMatchObject({
		code: "CONNECTION_BROKEN",
		ran: "no",
	});
});

test("a session keeps its state in the worker until it ends", async () => {
	const { connection } = await worker();
	const word = (text: string) =>
		call(connection, "remember", [text], { sessionId: "s" });
	expect(await word("one")).toEqual(["one"]);
	expect(await word("two")).toEqual(["one", "two"]);
	connection.endSession?.("s");
	expect(await word("three")).toEqual(["three"]);
});

test("trace context crosses", async () => {
	const { connection } = await worker();
	const traceContext = { traceparent: "00-1-2-01", baggage: "a=b" };
	expect(await call(connection, "trace_context", {}, { traceContext })).toEqual(
		traceContext,
	);
});

test("log records of a tool arrive with its call, level and traceback", async () => {
	const { connection, logs } = await worker();
	await call(connection, "log_something", {}, { callId: "call-x" });
	const [first, second] = logs.filter(({ callId }) => callId === "call-x");
	expect(first).toMatchObject({
		level: "warning",
		logger: "pictures",
		message: "only 3 left",
	});
	expect(second).toMatchObject({
		level: "error",
		logger: "tool.log_something",
	});
	expect(second?.traceback).toContain("ValueError: odd");
	expect(Math.abs((first?.wallMs ?? 0) - Date.now())).toBeLessThan(60_000);
});

test("a ping is answered while a tool blocks, and says how many calls run", async () => {
	const { connection } = await worker();
	const abort = new AbortController();
	const hanging = failureOf(
		call(connection, "hang", {}, { signal: abort.signal }),
	);
	await expect
		.poll(
			async () =>
				(await connection.ping?.(new AbortController().signal))?.callsRunning,
		)
		.toBe(1);
	abort.abort();
	await hanging;
});

test("a ping gives up with its signal", async () => {
	const { connection } = await worker();
	const reason = new Error("time limit");
	const signal = AbortSignal.abort(reason);
	expect(await failureOf(connection.ping?.(signal) ?? Promise.resolve())).toBe(
		reason,
	);
});

test("a worker that is asked to leave ends with code 0, and nothing broke", async () => {
	const { connection, process, brokenBy } = await startBench();
	await call(connection, "echo");
	await connection.leave?.(new AbortController().signal);
	expect(await process.exited).toEqual({ kind: "code", code: 0 });
	expect(brokenBy).toEqual([]);
	expect(await failureOf(call(connection, "echo"))).toMatchObject({
		code: "CONNECTION_BROKEN",
		ran: "no",
	});
});
