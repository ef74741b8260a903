import {
	context,
	propagation,
	SpanKind,
	SpanStatusCode,
	trace,
} from "@opentelemetry/api";
import { AlwaysOffSampler } from "@opentelemetry/sdk-trace";
import { ToolError } from "@snakepit/core";
import { type ScriptedCall, scripts } from "@snakepit/core/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
	MemorySdk,
	milliseconds,
	tree,
	unregister,
} from "../support/memory-sdk.ts";
import { errorOf, FollowedPools } from "./followed-pools.ts";

let sdk: MemorySdk;
const pools = new FollowedPools();
beforeEach(() => {
	sdk = new MemorySdk().register();
});
afterEach(async () => {
	await pools.close();
	unregister();
});

const traceparentOf = ({ traceContext }: ScriptedCall): unknown =>
	traceContext["traceparent"];

test("the span of a call that fails has what observe.args shows of its arguments", async () => {
	const { pool } = await pools.open(
		{ fail: scripts.fail, hidden: scripts.fail, echo: scripts.echo },
		{},
		{
			observe: {
				args: (command, args) =>
					command === "hidden"
						? undefined
						: { order: (args as { readonly order: bigint }).order },
			},
		},
	);
	await errorOf(pool.execute("fail", { order: 4711n, card: "4242" }));
	await errorOf(pool.execute("hidden", { order: 4712n }));
	await pool.execute("echo", { order: 4713n });
	const calls = (await sdk.spans()).filter(({ name }) =>
		name.startsWith("call "),
	);
	expect(
		calls.map(({ attributes }) => attributes["snakepit.call.args"]),
	).toEqual(['{"order":"4711"}', undefined, undefined]);
});

test("a call is a child of its caller, its attempt a child of the call, and the attempt's context is in the frame", async () => {
	const { pool, events } = await pools.open({ whoCalls: traceparentOf });
	const header = await trace
		.getTracer("test")
		.startActiveSpan("handler", async (span) => {
			const answer = await pool.execute("whoCalls");
			span.end();
			return answer;
		});
	const attempt = await sdk.span("attempt whoCalls");
	const { traceId, spanId } = attempt.spanContext();
	expect(header).toBe(`00-${traceId}-${spanId}-01`);
	expect(tree(await sdk.spans(), attempt)).toBe(
		"handler\n  call whoCalls\n    attempt whoCalls",
	);
	expect(attempt.kind).toBe(SpanKind.CLIENT);
	expect(events.of("call.settled")).toMatchObject([{ traceId }]);
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
	const { pool } = await pools.open({ headers: (call) => call.traceContext });
	const baggage = propagation.createBaggage({ tenant: { value: "acme" } });
	const headers = await context.with(
		propagation.setBaggage(context.active(), baggage),
		() => pool.execute("headers"),
	);
	expect(headers).toMatchObject({ baggage: "tenant=acme" });
});

test("a trace context that the caller hands in is the parent", async () => {
	const { pool } = await pools.open({ echo: scripts.echo });
	const traceId = "0af7651916cd43dd8448eb211c80319c";
	await pool.execute("echo", 1, {
		traceContext: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
	});
	const call = await sdk.span("call echo");
	expect(call.spanContext().traceId).toBe(traceId);
	expect(call.parentSpanContext?.spanId).toBe("b7ad6b7169203331");
});

test("the wait for a worker is a span of its own, and only a call that waited has one", async () => {
	const { pool, clock } = await pools.open({ work: scripts.work });
	const calls = [pool.execute("work", 10), pool.execute("work", 10)];
	await clock.advance(100);
	await Promise.all(calls);
	const spans = await sdk.spans();
	const [first, second] = spans.filter(({ name }) => name === "call work");
	if (first === undefined || second === undefined) throw new Error("no calls");
	expect(tree(spans, first)).toBe("call work\n  attempt work");
	expect(tree(spans, second)).toBe("call work\n  queue\n  attempt work");
	const queue = await sdk.span("queue");
	expect(milliseconds(queue.endTime)).toBeGreaterThanOrEqual(
		milliseconds(queue.startTime),
	);
});

test("a stream is one call until its last item, or until its consumer leaves", async () => {
	const { pool } = await pools.open({ count: scripts.count });
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

test("a call that is not sampled records nothing, and says so to the worker", async () => {
	sdk = new MemorySdk({ sampler: new AlwaysOffSampler() }).register();
	const { pool, events } = await pools.open({ whoCalls: traceparentOf });
	expect(await pool.execute("whoCalls")).toMatch(
		/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/,
	);
	expect(await sdk.spans()).toEqual([]);
	expect(events.of("call.settled")).toMatchObject([{ traceId: undefined }]);
});

test("without an SDK nothing is exported and no header is sent", async () => {
	unregister();
	const { pool } = await pools.open({ headers: (call) => call.traceContext });
	expect(await pool.execute("headers")).toEqual({});
	expect(
		await pool.execute("headers", 1, { traceContext: { traceparent: "x" } }),
	).toEqual({ traceparent: "x" });
});

test("a back-call is a child of the tool's span, and what the function does is a child of it", async () => {
	const toolSpan = "00f067aa0ba902b7";
	const { pool } = await pools.open({
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
					trace.getTracer("test").startSpan("database").end();
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
	const { pool } = await pools.open({
		ask: ({ backCall }: ScriptedCall) =>
			backCall?.({ function: "sell", traceContext: {} }, async () => {
				throw Object.assign(new Error("sold out"), { code: "SOLD_OUT" });
			}),
	});
	await errorOf(pool.execute("ask"));
	const backCall = await sdk.span("back-call sell");
	expect(backCall.parentSpanContext?.spanId).toBe(
		(await sdk.span("attempt ask")).spanContext().spanId,
	);
	expect(backCall.attributes).toMatchObject({ "error.type": "SOLD_OUT" });
	expect(backCall.events).toMatchObject([{ name: "exception" }]);
});

test("a call that waits too long has an error on the wait and on the call, and no attempt", async () => {
	const { pool, clock, close } = await pools.open({ hang: scripts.hang });
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
	await close({ manner: "forced" });
	await running;
});

test("the error of a tool is on the attempt once, with the type and the traceback of its language", async () => {
	const { pool } = await pools.open({
		divide: () => {
			throw new ToolError({
				ran: "maybe",
				message: '"divide" failed: division by zero',
				remote: {
					type: "ZeroDivisionError",
					message: "division by zero",
					traceback: "Traceback (most recent call last): ...",
				},
			});
		},
	});
	await errorOf(pool.execute("divide"));
	const attempt = await sdk.span("attempt divide");
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
