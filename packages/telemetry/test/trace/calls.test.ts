import {
	context,
	propagation,
	SpanKind,
	SpanStatusCode,
	type Tracer,
	trace,
} from "@opentelemetry/api";
import { AlwaysOffSampler } from "@opentelemetry/sdk-trace";
import { type SnakepitError, ToolError } from "@snakepit/core";
import {
	type ScriptedCall,
	scripts,
	type VirtualPool,
	virtualPool,
} from "@snakepit/core/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { telemetry } from "../../src/index.ts";
import {
	MemorySdk,
	milliseconds,
	tree,
	unregister,
} from "../support/memory-sdk.ts";

let sdk: MemorySdk;
let open: VirtualPool | undefined;
beforeEach(() => {
	sdk = new MemorySdk().register();
});
afterEach(async () => {
	await open?.close();
	open = undefined;
	unregister();
});

async function poolWith(
	commands: Parameters<typeof virtualPool>[0]["commands"],
	given: Parameters<typeof virtualPool>[1] = {},
): Promise<VirtualPool> {
	open = await virtualPool(
		{ commands: commands ?? {} },
		{ instruments: [telemetry()], ...given },
	);
	return open;
}

const traceparentOf = ({ traceContext }: ScriptedCall): unknown =>
	traceContext["traceparent"];
const caller = (): Tracer => trace.getTracer("test");
const errorOf = (promise: Promise<unknown>): Promise<SnakepitError> =>
	promise.then(
		() => Promise.reject(new Error("it did not fail")),
		(error) => error,
	);

test("a call is a child of its caller, its attempt a child of the call, and the attempt's context is in the frame", async () => {
	const { pool } = await poolWith({ whoCalls: traceparentOf });
	const header = await caller().startActiveSpan("handler", async (span) => {
		const answer = await pool.execute("whoCalls");
		span.end();
		return answer;
	});
	const attempt = await sdk.span("attempt");
	const { traceId, spanId } = attempt.spanContext();
	expect(header).toBe(`00-${traceId}-${spanId}-01`);
	expect(tree(await sdk.spans(), attempt)).toBe(
		"handler\n  call whoCalls\n    attempt",
	);
	expect(attempt.kind).toBe(SpanKind.CLIENT);
	const call = await sdk.span("call whoCalls");
	expect(call.attributes).toEqual({
		"snakepit.pool.name": "scripted",
		"snakepit.command": "whoCalls",
		"snakepit.call.id": "c1",
		"snakepit.call.shape": "unary",
		"snakepit.call.outcome": "succeeded",
		"snakepit.call.attempts": 1,
	});
	expect(call.status.code).toBe(SpanStatusCode.UNSET);
});

test("baggage of the caller travels too", async () => {
	const { pool } = await poolWith({ headers: (call) => call.traceContext });
	const baggage = propagation.createBaggage({ tenant: { value: "acme" } });
	const headers = await context.with(
		propagation.setBaggage(context.active(), baggage),
		() => pool.execute("headers"),
	);
	expect(headers).toMatchObject({ baggage: "tenant=acme" });
});

test("a trace context that the caller hands in is the parent", async () => {
	const { pool } = await poolWith({ echo: scripts.echo });
	const traceId = "0af7651916cd43dd8448eb211c80319c";
	await pool.execute("echo", 1, {
		traceContext: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
	});
	const call = await sdk.span("call echo");
	expect(call.spanContext().traceId).toBe(traceId);
	expect(call.parentSpanContext?.spanId).toBe("b7ad6b7169203331");
});

test("the wait for a worker is a span of its own, and only a call that waited has one", async () => {
	const { pool, clock } = await poolWith({ work: scripts.work });
	const calls = [pool.execute("work", 10), pool.execute("work", 10)];
	await clock.advance(100);
	await Promise.all(calls);
	const spans = await sdk.spans();
	const [first, second] = spans.filter(({ name }) => name === "call work");
	if (first === undefined || second === undefined) throw new Error("no calls");
	expect(tree(spans, first)).toBe("call work\n  attempt");
	expect(tree(spans, second)).toBe("call work\n  queue\n  attempt");
	const queue = await sdk.span("queue");
	expect(milliseconds(queue.endTime)).toBeGreaterThanOrEqual(
		milliseconds(queue.startTime),
	);
});

test("a call that waits too long has an error on the wait and on the call, and no attempt", async () => {
	const { pool, clock } = await poolWith({ hang: scripts.hang });
	const running = errorOf(pool.execute("hang"));
	const late = errorOf(pool.execute("hang", 1, { queueTimeoutMs: 50 }));
	await clock.advance(100);
	await late;
	const call = await sdk.span("call hang");
	expect(call.status.code).toBe(SpanStatusCode.ERROR);
	expect(call.attributes).toMatchObject({
		"error.type": "QUEUE_TIMEOUT",
		"snakepit.call.outcome": "timed_out",
		"snakepit.call.attempts": 0,
		"snakepit.call.ran": "no",
	});
	expect(call.events.map(({ name }) => name)).toEqual(["exception"]);
	expect((await sdk.span("queue")).attributes).toEqual({
		"error.type": "QUEUE_TIMEOUT",
	});
	await open?.close({ manner: "forced" });
	await running;
});

test("the error of a tool is on the attempt once, with the type and the traceback of its language", async () => {
	const { pool } = await poolWith({
		divide: () => {
			throw new ToolError({
				code: "TOOL_FAILED",
				ran: "maybe",
				message: '"divide" failed: division by zero',
				remote: {
					type: "ZeroDivisionError",
					message: "division by zero",
					traceback: "Traceback (most recent call last): ...",
					notes: [],
					frames: [],
					cause: undefined,
				},
			});
		},
	});
	await errorOf(pool.execute("divide"));
	const attempt = await sdk.span("attempt");
	expect(attempt.status.code).toBe(SpanStatusCode.ERROR);
	expect(attempt.attributes).toMatchObject({ "error.type": "TOOL_FAILED" });
	expect(
		attempt.events.map(({ name, attributes }) => [name, attributes]),
	).toEqual([
		[
			"exception",
			{
				"exception.type": "ZeroDivisionError",
				"exception.message": "division by zero",
				"exception.stacktrace": "Traceback (most recent call last): ...",
			},
		],
	]);
	const call = await sdk.span("call divide");
	expect(call.events).toEqual([]);
	expect(call.attributes).toMatchObject({
		"error.type": "TOOL_FAILED",
		"snakepit.call.outcome": "failed",
	});
});

test("an aborted call is no failure; its attempt is told to have been cancelled and ends when the worker is free", async () => {
	const { pool, clock } = await poolWith({ hang: scripts.hang });
	const abort = new AbortController();
	const aborted = errorOf(pool.execute("hang", 1, { signal: abort.signal }));
	abort.abort();
	await aborted;
	await clock.advance(10);
	const call = await sdk.span("call hang");
	expect(call.status.code).toBe(SpanStatusCode.UNSET);
	expect(call.attributes).toMatchObject({
		"error.type": "CALL_ABORTED",
		"snakepit.call.outcome": "aborted",
	});
	const attempt = await sdk.span("attempt");
	expect(attempt.events.map(({ name }) => name)).toEqual(["cancelled"]);
	expect(attempt.status.code).toBe(SpanStatusCode.UNSET);
});

test("a call past its deadline is an error on call and attempt", async () => {
	const { pool, clock } = await poolWith({ hang: scripts.hang });
	const late = errorOf(pool.execute("hang", 1, { timeoutMs: 50 }));
	await clock.advance(100);
	await late;
	for (const name of ["call hang", "attempt"]) {
		const span = await sdk.span(name);
		expect(span.status.code).toBe(SpanStatusCode.ERROR);
		expect(span.attributes).toMatchObject({ "error.type": "CALL_TIMEOUT" });
	}
});

test("a stream is one call until its last item, or until its consumer leaves", async () => {
	const { pool } = await poolWith({ count: scripts.count });
	expect(await Array.fromAsync(pool.stream("count", 3))).toEqual([0, 1, 2]);
	for await (const item of pool.stream("count", 9)) if (item === 1) break;
	const calls = (await sdk.spans()).filter(({ name }) => name === "call count");
	expect(
		calls.map(({ attributes }) => [
			attributes["snakepit.call.shape"],
			attributes["snakepit.call.outcome"],
		]),
	).toEqual([
		["stream", "succeeded"],
		["stream", "aborted"],
	]);
});

test("the trace of a killed worker: the failed attempt, the retry linked to it, and the restart linked to both", async () => {
	let crashes = 1;
	const { pool, clock } = await poolWith({
		sometimes: (call) =>
			crashes-- > 0 ? scripts.crash(call) : scripts.echo(call),
	});
	const call = pool.execute("sometimes", "x", { idempotentRetries: 1 });
	await clock.advance(1_000);
	expect(await call).toBe("x");
	const spans = await sdk.spans();
	const span = await sdk.span("call sometimes");
	expect(tree(spans, span)).toBe(
		"call sometimes\n  attempt\n  queue\n  attempt",
	);
	expect(span.events.map(({ name, attributes }) => [name, attributes])).toEqual(
		[["retried", { "error.type": "WORKER_EXITED" }]],
	);
	expect(span.status.code).toBe(SpanStatusCode.UNSET);
	const [failed, good] = spans.filter(({ name }) => name === "attempt");
	expect(failed?.attributes).toMatchObject({ "error.type": "WORKER_EXITED" });
	expect(good?.links).toMatchObject([
		{
			context: { spanId: failed?.spanContext().spanId },
			attributes: { "snakepit.link": "previous attempt" },
		},
	]);
	const restart = spans
		.filter(({ name }) => name === "worker start")
		.find(({ attributes }) => "snakepit.worker.replaces" in attributes);
	expect(restart?.spanContext().traceId).not.toBe(span.spanContext().traceId);
	expect(restart?.links).toContainEqual(
		expect.objectContaining({
			context: expect.objectContaining({
				traceId: span.spanContext().traceId,
				spanId: failed?.spanContext().spanId,
			}),
			attributes: { "snakepit.link": "failed attempt" },
		}),
	);
});

test("a back-call is a child of the tool's span, and what the function does is a child of it", async () => {
	const toolSpan = "00f067aa0ba902b7";
	const { pool } = await poolWith({
		ask: async ({ backCall, traceContext }: ScriptedCall) => {
			const [version, traceId, , flags] = String(
				traceContext["traceparent"],
			).split("-");
			const within = {
				traceparent: [version, traceId, toolSpan, flags].join("-"),
			};
			return await backCall?.(
				{ function: "price", traceContext: within },
				async () => {
					caller().startSpan("database").end();
					return 5;
				},
			);
		},
	});
	expect(await pool.execute("ask")).toBe(5);
	const backCall = await sdk.span("back-call price");
	expect(backCall.parentSpanContext?.spanId).toBe(toolSpan);
	expect(backCall.kind).toBe(SpanKind.SERVER);
	const database = await sdk.span("database");
	expect(database.parentSpanContext?.spanId).toBe(
		backCall.spanContext().spanId,
	);
	expect(database.spanContext().traceId).toBe(
		(await sdk.span("call ask")).spanContext().traceId,
	);
});

test("a back-call without a context of its own belongs to the attempt, and its failure is on it", async () => {
	const { pool } = await poolWith({
		ask: ({ backCall }: ScriptedCall) =>
			backCall?.({ function: "sell", traceContext: {} }, async () => {
				throw Object.assign(new Error("sold out"), { code: "SOLD_OUT" });
			}),
	});
	await errorOf(pool.execute("ask"));
	const backCall = await sdk.span("back-call sell");
	expect(backCall.parentSpanContext?.spanId).toBe(
		(await sdk.span("attempt")).spanContext().spanId,
	);
	expect(backCall.attributes).toMatchObject({ "error.type": "SOLD_OUT" });
	expect(backCall.events).toMatchObject([{ name: "exception" }]);
});

test("a call that is not sampled records nothing, and says so to the worker", async () => {
	sdk = new MemorySdk({ sampler: new AlwaysOffSampler() }).register();
	const { pool } = await poolWith({ whoCalls: traceparentOf });
	expect(await pool.execute("whoCalls")).toMatch(
		/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/,
	);
	expect(await sdk.spans()).toEqual([]);
});

test("without an SDK nothing is told and nothing travels", async () => {
	unregister();
	const { pool } = await poolWith({ headers: (call) => call.traceContext });
	expect(await pool.execute("headers")).toEqual({});
	expect(
		await pool.execute("headers", 1, { traceContext: { traceparent: "x" } }),
	).toEqual({ traceparent: "x" });
});
