import {
	context,
	type Span,
	SpanKind,
	SpanStatusCode,
	trace,
} from "@opentelemetry/api";
import { ToolError } from "@snakepit/core";
import { type ScriptedCall, scripts } from "@snakepit/core/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CallOfSpan } from "../../src/index.ts";
import { telemetry } from "../../src/index.ts";
import { MemorySdk, tree, unregister } from "../support/memory-sdk.ts";
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

const fails = (): never => {
	throw new ToolError({
		ran: "maybe",
		message: "card 4111 was refused",
		remote: {
			type: "ValueError",
			message: "card 4111 was refused",
			traceback: "line 1: card 4111",
		},
	});
};

async function dropped(): Promise<unknown> {
	const series = await sdk.series("snakepit.telemetry.dropped");
	return series.find(
		({ attributes }) => attributes["snakepit.drop.reason"] === "hook_threw",
	)?.value;
}

test("a call may have its own span alone: it is the worker's client then, and has the worker and the error", async () => {
	const { pool, clock } = await pools.open(
		{ whoCalls: traceparentOf, work: scripts.work, fails },
		{ spans: { queue: false, attempt: false } },
	);
	const header = await pool.execute("whoCalls");
	const call = await sdk.span("call whoCalls");
	const { traceId, spanId } = call.spanContext();
	expect(header).toBe(`00-${traceId}-${spanId}-01`);
	expect(call.kind).toBe(SpanKind.CLIENT);
	expect(call.attributes).toMatchObject({
		"rpc.system.name": "snakepit",
		"rpc.method": "whoCalls",
		"snakepit.worker.id": "scripted-0",
		"snakepit.call.outcome": "succeeded",
		"process.pid": expect.any(Number),
	});
	const waited = [pool.execute("work", 10), pool.execute("work", 10)];
	await clock.advance(100);
	await Promise.all(waited);
	await errorOf(pool.execute("fails"));
	const failed = await sdk.span("call fails");
	expect(failed.status.code).toBe(SpanStatusCode.ERROR);
	expect(failed.events.map(({ name }) => name)).toEqual(["exception"]);
	const names = (await sdk.spans()).map(({ name }) => name);
	expect(names.filter((name) => /^(attempt|queue)/.test(name))).toEqual([]);
});

test("a call can begin a trace of its own, with a link to its caller", async () => {
	const { pool } = await pools.open(
		{ whoCalls: traceparentOf },
		{ relation: "link", commands: { unsampled: { traces: 0 } } },
	);
	const header = await trace
		.getTracer("test")
		.startActiveSpan("handler", async (span) => {
			const answer = await pool.execute("whoCalls");
			span.end();
			return answer;
		});
	const caller = await sdk.span("handler");
	const call = await sdk.span("call whoCalls");
	expect(call.parentSpanContext).toBeUndefined();
	expect(call.spanContext().traceId).not.toBe(caller.spanContext().traceId);
	expect(call.links).toMatchObject([
		{
			context: caller.spanContext(),
			attributes: { "snakepit.link": "caller" },
		},
	]);
	expect(tree(await sdk.spans(), call)).toBe(
		"call whoCalls\n  attempt whoCalls",
	);
	expect(header).toContain(call.spanContext().traceId);
	await pool.execute("whoCalls");
	const calls = (await sdk.spans()).filter(
		({ name }) => name === "call whoCalls",
	);
	expect(calls.map(({ links }) => links.length)).toEqual([1, 0]);
});

test("onCallSpan sees each recorded call in its own context, with its arguments, and may fail", async () => {
	const seen: [CallOfSpan, boolean][] = [];
	const { pool } = await pools.open(
		{ echo: scripts.echo },
		{
			commands: { "*": { traces: 1 } },
			onCallSpan: (span: Span, call) => {
				seen.push([call, trace.getSpan(context.active()) === span]);
				span.setAttribute("order", (call.args as { order: number }).order);
			},
		},
	);
	await pool.execute("echo", { order: 7 });
	expect(seen).toEqual([
		[
			{
				...{ pool: "scripted", command: "echo", callId: "c1" },
				...{ shape: "unary", sessionId: undefined, args: { order: 7 } },
			},
			true,
		],
	]);
	const call = await sdk.span("call echo");
	expect(call.attributes).toMatchObject({
		...{ order: 7, "snakepit.command": "echo" },
		"snakepit.call.outcome": "succeeded",
	});
	expect(await dropped()).toBe(0);
	expect(await pool.execute("echo", undefined)).toBeUndefined();
	expect(await dropped()).toBe(1);
});

test("redact changes every text of an error before it is exported", async () => {
	const { pool } = await pools.open(
		{ fails },
		{ redact: (text) => text.replaceAll(/\d{4}/g, "****") },
	);
	await errorOf(pool.execute("fails"));
	const attempt = await sdk.span("attempt fails");
	expect(attempt.events[0]?.attributes).toEqual({
		"exception.type": "ValueError",
		"exception.message": "card **** was refused",
		"exception.stacktrace": "line 1: card ****",
	});
	const everything = JSON.stringify(
		(await sdk.spans()).map(({ attributes, events, status }) => [
			...[attributes, events, status],
		]),
	);
	expect(everything).toContain("card ****");
	expect(everything).not.toContain("4111");
});

test("a text that cannot be redacted is left out", async () => {
	const { pool } = await pools.open(
		{ fails },
		{
			redact: () => {
				throw new Error("mine");
			},
		},
	);
	await errorOf(pool.execute("fails"));
	const attempt = await sdk.span("attempt fails");
	expect(attempt.status.message).toBe("(redact threw)");
	expect(attempt.events[0]?.attributes).toMatchObject({
		"exception.message": "(redact threw)",
		"exception.stacktrace": "(redact threw)",
	});
	expect(await dropped()).toBeGreaterThan(0);
});

test.each([
	[{ spans: { attempts: false } }, 'Did you mean "attempt"?'],
	[{ spans: { queue: 1 } }, '"queue" must be true or false'],
	[{ relation: "sibling" }, '"relation" must be'],
	[{ onCallSpan: 1 }, '"onCallSpan" must be'],
	[{ redact: "all" }, '"redact" must be'],
])("%j is refused", (options, message) => {
	expect(() => telemetry(options as never)).toThrow(message);
});
