import { SpanStatusCode } from "@opentelemetry/api";
import { ToolError } from "@snakepit/core";
import { scripts } from "@snakepit/core/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
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

test("an aborted call is not a failure; its attempt has the event `cancelled` and ends when the worker is free", async () => {
	const { pool, clock } = await pools.open({ hang: scripts.hang });
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
	const { pool, clock } = await pools.open({ hang: scripts.hang });
	const late = errorOf(pool.execute("hang", 1, { timeoutMs: 50 }));
	await clock.advance(100);
	await late;
	for (const name of ["call hang", "attempt"]) {
		const span = await sdk.span(name);
		expect(span.status.code).toBe(SpanStatusCode.ERROR);
		expect(span.attributes).toMatchObject({ "error.type": "CALL_TIMEOUT" });
	}
});

test("the trace of a killed worker: the failed attempt, the retry linked to it, and the restart linked to both", async () => {
	let crashes = 1;
	const { pool, clock } = await pools.open({
		sometimes: (call) =>
			crashes-- > 0 ? scripts.crash(call) : scripts.echo(call),
	});
	const call = pool.execute("sometimes", "x", { retry: { attempts: 2 } });
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
