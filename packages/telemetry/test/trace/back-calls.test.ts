import { SpanKind, trace } from "@opentelemetry/api";
import type { ScriptedCall } from "@snakepit/core/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MemorySdk, unregister } from "../support/memory-sdk.ts";
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
		(await sdk.span("attempt")).spanContext().spanId,
	);
	expect(backCall.attributes).toMatchObject({ "error.type": "SOLD_OUT" });
	expect(backCall.events).toMatchObject([{ name: "exception" }]);
});
