import {
	type CallOptions,
	type MeasuredRun,
	NOT_SAMPLED,
} from "@snakepit/core/adapter";
import fc from "fast-check";
import { expect, test } from "vitest";
import { monotonicUs } from "../../src/conversation/compact-frame.ts";
import { encodeValue } from "../../src/index.ts";
import { decodeValue } from "../../src/values/decode-value.ts";
import { call, failureOf, streamOf } from "../support/calls.ts";
import { FakeWorker } from "../support/fake-worker.ts";

/** A compact result, as docs/bridge-protocol.md has it. */
function compactResult(
	callId: number,
	image: Uint8Array,
	begunUs = 0,
): Uint8Array {
	const head = Buffer.alloc(13);
	head.writeUInt32BE(callId, 1);
	head.writeUInt32BE(begunUs, 5);
	head.writeUInt32BE(250, 9);
	return Buffer.concat([head, image]);
}

test("a call that has nothing but its arguments is compact, and so may its result be", async () => {
	const worker = new FakeWorker();
	const answer = call(worker.conversation, "echo", ["x"]);
	const image = Buffer.from(encodeValue(["x"]));
	const head = Buffer.from([0, 0, 0, 0, 1, 4, 0]);
	expect(worker.frames).toEqual([
		Buffer.concat([head, Buffer.from("echo"), image]),
	]);
	worker.frame(compactResult(1, encodeValue({ y: [1, "é"] })));
	expect(await answer).toEqual({ y: [1, "é"] });
});

test.each([
	["a session whose name is not ASCII", "echo", { sessionId: "é" }],
	["a session with a long name", "echo", { sessionId: "s".repeat(256) }],
	["an input stream", "echo", { input: [1] }],
	["reports of progress", "echo", { onProgress: async () => {} }],
	["baggage", "echo", { traceContext: { traceparent: "00", baggage: "a=1" } }],
	["a name that is not ASCII", "höre", {}],
	["a long name", "t".repeat(256), {}],
] as const)("a call with %s is not compact", async (_, tool, options) => {
	const worker = new FakeWorker();
	const answer = call(worker.conversation, tool, [1], options);
	expect(worker.frames[0]?.[0]).toBe(0x0a);
	expect(worker.all("call")[0]).toMatchObject({ tool, callId: 1 });
	worker.result(1, "done");
	expect(await answer).toBe("done");
});

test.each([
	[{ timeoutMs: 5.4 }, { timeoutMs: 5 }],
	[{ timeoutMs: 0.2 }, { timeoutMs: 1 }],
	[{ timeoutMs: 2 ** 31 - 1 }, { timeoutMs: 2 ** 31 - 1 }],
	[{ sessionId: "s".repeat(255) }, { sessionId: "s".repeat(255) }],
	[{ traceContext: { traceparent: "00-a" } }, {}],
	[{ timeoutMs: 7, sessionId: "s", traceContext: { traceparent: "00-b" } }, {}],
])("a call with %j is compact", async (options, also) => {
	const worker = new FakeWorker();
	const answer = call(worker.conversation, "echo", ["x"], options);
	expect(worker.frames[0]?.[0]).toBe(0);
	const [sent] = worker.all("call");
	expect(sent).toMatchObject({ tool: "echo", ...options, ...also });
	expect(decodeValue(sent?.arguments as Uint8Array)).toEqual(["x"]);
	worker.frame(compactResult(1, encodeValue("y")));
	expect(await answer).toBe("y");
});

test("a call of which no trace is recorded says so in a bit, and in headers where it is not compact", () => {
	const worker = new FakeWorker();
	const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
	const traceContext = Object.defineProperty({ traceparent }, NOT_SAMPLED, {
		value: true,
	} as const) as CallOptions["traceContext"];
	void call(worker.conversation, "echo", ["x"], { traceContext });
	const image = Buffer.from(encodeValue(["x"]));
	const head = Buffer.from([0, 0, 0, 0, 1, 4, 16]);
	expect(worker.frames).toEqual([
		Buffer.concat([head, Buffer.from("echo"), image]),
	]);
	void call(worker.conversation, "echo", ["x"], { traceContext, input: [1] });
	expect(worker.all("call").at(-1)).toMatchObject({
		traceContext: { traceparent },
	});
});

test("a result says how long ago its call began, also when the clock's lower half has turned over", async () => {
	const worker = new FakeWorker();
	const nowUs = monotonicUs();
	for (const [i, agoUs] of [1_000, 3_000_000_000].entries()) {
		const ago: number[] = [];
		const measured: MeasuredRun = { ranMs: undefined };
		const answer = call(worker.conversation, "echo", ["x"], {
			beganAgo: (ms) => ago.push(ms),
			measured,
		});
		const begunUs = (nowUs - agoUs + 2 ** 32) % 2 ** 32;
		worker.frame(compactResult(i + 1, encodeValue("y"), begunUs));
		await answer;
		expect(measured.ranMs).toBe(0.25);
		expect(ago[0]).toBeGreaterThanOrEqual(agoUs / 1000);
		expect(ago[0]).toBeLessThan(agoUs / 1000 + 10_000);
	}
});

test("a stream is not compact", () => {
	const worker = new FakeWorker();
	void streamOf(worker.conversation, "many", [1]).next();
	expect(worker.frames[0]?.[0]).toBe(0x0a);
});

test("a call without arguments has none, and the longest name fits", async () => {
	const worker = new FakeWorker();
	const tool = "t".repeat(255);
	const answer = call(worker.conversation, tool);
	expect(worker.frames[0]).toHaveLength(7 + 255);
	expect(worker.all("call")).toMatchObject([{ tool, callId: 1 }]);
	worker.frame(compactResult(1, encodeValue(null)));
	expect(await answer).toBe(null);
});

test("an invalid compact result fails only its own call", async () => {
	const worker = new FakeWorker();
	const first = failureOf(call(worker.conversation, "echo", ["x"]));
	const second = call(worker.conversation, "echo", ["y"]);
	worker.frame(compactResult(1, new Uint8Array([0xc1])));
	worker.frame(compactResult(9, encodeValue("for no call")));
	worker.frame(compactResult(2, encodeValue("y")));
	expect(await first).toMatchObject({ code: "VALUE_NOT_TRANSFERABLE" });
	expect(await second).toBe("y");
	expect(worker.brokenBy).toEqual([]);
});

test("whatever follows the mark of a compact frame settles a call, breaks the conversation, or is about no call", async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.uint8Array({ maxLength: 24 }),
			fc.constantFrom(0, 1, 2),
			async (bytes, callId) => {
				const worker = new FakeWorker();
				let isSettled = false;
				const settle = (): void => {
					isSettled = true;
				};
				call(worker.conversation, "echo", ["x"]).then(settle, settle);
				const frame = Buffer.concat([Buffer.of(0), bytes]);
				if (frame.length >= 5) frame.writeUInt32BE(callId, 1);
				worker.frame(frame);
				const isWhole = frame.length > 13;
				expect(worker.brokenBy).toHaveLength(isWhole ? 0 : 1);
				await new Promise((resolve) => setImmediate(resolve));
				expect(isSettled).toBe(!isWhole || callId === 1);
			},
		),
	);
});

test("a compact result for a stream breaks the conversation", () => {
	const worker = new FakeWorker();
	void streamOf(worker.conversation, "many", [1])
		.next()
		.catch(() => {});
	worker.frame(compactResult(1, encodeValue(1)));
	expect(worker.brokenBy).toHaveLength(1);
});

test("a value whose getter makes another call leaves both calls whole", async () => {
	const worker = new FakeWorker();
	const inner: Promise<unknown>[] = [];
	const long = "x".repeat(600);
	const args = {
		before: long,
		get made() {
			inner.push(call(worker.conversation, "inner", ["y".repeat(700)]));
			return 1;
		},
		after: long,
	};
	const outer = call(worker.conversation, "outer", args);
	expect(
		worker
			.all("call")
			.map(({ tool, arguments: image }) => [tool, decodeValue(image)]),
	).toEqual([
		["inner", ["y".repeat(700)]],
		["outer", { before: long, made: 1, after: long }],
	]);
	worker.result(1, "of the inner");
	worker.result(2, "of the outer");
	expect(await Promise.all([...inner, outer])).toEqual([
		"of the inner",
		"of the outer",
	]);
});
