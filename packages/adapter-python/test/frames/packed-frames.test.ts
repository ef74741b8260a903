import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
	type CallOptions,
	type MeasuredRun,
	NOT_SAMPLED,
} from "@snakepit/core/adapter";
import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../../scripts/test-effort.ts";
import { monotonicUs } from "../../src/frames/packed-frames.ts";
import { encodeValue } from "../../src/index.ts";
import { decodeValue } from "../../src/values/decode-value.ts";
import { call, failureOf, streamOf } from "../support/calls.ts";
import { FakeWorker } from "../support/fake-worker.ts";

/** A result in the layout that docs/bridge-protocol.md has. */
function packedResult(
	callId: number,
	encoded: Uint8Array,
	beganUs = 0,
): Uint8Array {
	const head = Buffer.from(
		"9501ce00000000ce00000000ce000000fac600000000",
		"hex",
	);
	head.writeUInt32BE(callId, 3);
	head.writeUInt32BE(beganUs, 8);
	head.writeUInt32BE(encoded.length, 18);
	return Buffer.concat([head, encoded]);
}

/** The same of a call, from its number to the size of its arguments. */
function callHead(mark: number, encoded: Uint8Array, kind = 1): Buffer {
	return Buffer.from([
		mark,
		kind,
		0xce,
		0,
		0,
		0,
		1,
		0xc6,
		0,
		0,
		0,
		encoded.length,
	]);
}

test("docs/bridge-protocol.md shows a usual call and its result as they are", async () => {
	const page = readFileSync(
		join(import.meta.dirname, "../../../../docs/bridge-protocol.md"),
		"utf8",
	);
	const [asked, answered] = [
		...page.matchAll(/^(?:[0-9a-f]{2} ){15,}.*$/gm),
	].map(([line]) => Buffer.from(line.replaceAll(" ", ""), "hex"));
	const worker = new FakeWorker();
	for (let number = 1; number < 7; number++)
		void call(worker.conversation, "other", []).catch(() => {});
	const measured: MeasuredRun = { ranMs: undefined };
	const answer = call(worker.conversation, "add", [1, 2], { measured });
	expect(worker.frames[6]).toEqual(asked);
	worker.frame(answered as Buffer);
	expect(await answer).toBe(3);
	expect(measured.ranMs).toBe(0.25);
});

test("a call that has nothing but its arguments has one layout, and so may its result", async () => {
	const worker = new FakeWorker();
	const answer = call(worker.conversation, "echo", ["x"]);
	const encoded = Buffer.from(encodeValue(["x"]));
	expect(worker.frames).toEqual([
		Buffer.concat([callHead(0x94, encoded), encoded, encodeValue("echo")]),
	]);
	worker.frame(packedResult(1, encodeValue({ y: [1, "é"] })));
	expect(await answer).toEqual({ y: [1, "é"] });
});

test.each([
	[{ timeoutMs: 5.4 }, { timeoutMs: 5 }],
	[{ timeoutMs: 0.2 }, { timeoutMs: 1 }],
	[{ timeoutMs: 2 ** 31 - 1 }, { timeoutMs: 2 ** 31 - 1 }],
	[{ sessionId: "é".repeat(300) }, { sessionId: "é".repeat(300) }],
	[
		{ traceContext: { traceparent: "00-a" } },
		{ traceContext: { traceparent: "00-a" } },
	],
	[
		{ timeoutMs: 7, sessionId: "s", traceContext: { traceparent: "00-b" } },
		{ timeoutMs: 7, sessionId: "s", traceContext: { traceparent: "00-b" } },
	],
	[
		{ traceContext: { traceparent: "00", baggage: "a=1" } },
		{ traceContext: { traceparent: "00", baggage: "a=1" } },
	],
	[{ input: [1] }, { hasInput: true }],
	[{ onProgress: async () => {} }, { wantsProgress: true }],
])("a call with %j says so in a map", async (options, also) => {
	const worker = new FakeWorker();
	const answer = call(worker.conversation, "höre", ["x"], options);
	expect(worker.frames[0]?.[0]).toBe(0x95);
	const [sent] = worker.all("call");
	expect(sent).toMatchObject({ tool: "höre", ...also });
	expect(decodeValue(sent?.arguments as Uint8Array)).toEqual(["x"]);
	worker.frame(packedResult(1, encodeValue("y")));
	expect(await answer).toBe("y");
});

test("a name with a lone surrogate is that of no tool", () => {
	const worker = new FakeWorker();
	void call(worker.conversation, "a\ud800", []);
	void call(worker.conversation, "a\ud800", [], { input: [] });
	expect(worker.all("call").map(({ tool }) => tool)).toEqual([
		"a\ufffd",
		"a\ufffd",
	]);
});

test("a call of which no trace is recorded says so, and in headers where it is unusual", () => {
	const worker = new FakeWorker();
	const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
	const traceContext = Object.defineProperty({ traceparent }, NOT_SAMPLED, {
		value: true,
	} as const) as CallOptions["traceContext"];
	void call(worker.conversation, "echo", ["x"], { traceContext });
	const encoded = Buffer.from(encodeValue(["x"]));
	expect(worker.frames).toEqual([
		Buffer.concat([callHead(0x94, encoded, 10), encoded, encodeValue("echo")]),
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
		worker.frame(packedResult(i + 1, encodeValue("y"), begunUs));
		await answer;
		expect(measured.ranMs).toBe(0.25);
		expect(ago[0]).toBeGreaterThanOrEqual(agoUs / 1000);
		expect(ago[0]).toBeLessThan(agoUs / 1000 + 10_000);
	}
});

test("a call without arguments has none, and any name fits", async () => {
	const worker = new FakeWorker();
	const tool = "t".repeat(300);
	const answer = call(worker.conversation, tool);
	const none = new Uint8Array();
	expect(worker.frames).toEqual([
		Buffer.concat([callHead(0x94, none), encodeValue(tool)]),
	]);
	worker.frame(packedResult(1, encodeValue(null)));
	expect(await answer).toBe(null);
});

test("an invalid result fails only its own call", async () => {
	const worker = new FakeWorker();
	const first = failureOf(call(worker.conversation, "echo", ["x"]));
	const second = call(worker.conversation, "echo", ["y"]);
	worker.frame(packedResult(1, new Uint8Array([0xc1])));
	worker.frame(packedResult(9, encodeValue("for no call")));
	worker.frame(packedResult(2, encodeValue("y")));
	expect(await first).toMatchObject({ code: "VALUE_NOT_TRANSFERABLE" });
	expect(await second).toBe("y");
	expect(worker.brokenBy).toEqual([]);
});

test("a result with any other bytes settles a call, breaks the conversation, or is about no call", async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.array(fc.tuple(fc.nat(40), fc.nat(255)), { maxLength: 4 }),
			fc.nat(40),
			async (changes, cut) => {
				const worker = new FakeWorker();
				let isSettled = false;
				const settle = (): void => {
					isSettled = true;
				};
				call(worker.conversation, "echo", ["x"]).then(settle, settle);
				const frame = Buffer.from(packedResult(1, encodeValue(["some text"])));
				for (const [at, byte] of changes) frame[at % frame.length] = byte;
				worker.frame(frame.subarray(0, frame.length - (cut % frame.length)));
				await new Promise((resolve) => setImmediate(resolve));
				if (worker.brokenBy.length > 0) expect(isSettled).toBe(true);
				await worker.conversation[Symbol.asyncDispose]();
				await new Promise((resolve) => setImmediate(resolve));
				expect(isSettled).toBe(true);
			},
		),
		{ numRuns: rounds(5_000, 500) },
	);
});

test("a result for a stream breaks the conversation", () => {
	const worker = new FakeWorker();
	void streamOf(worker.conversation, "many", [1])
		.next()
		.catch(() => {});
	worker.frame(packedResult(1, encodeValue(1)));
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
			.map(({ tool, arguments: encoded }) => [tool, decodeValue(encoded)]),
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
