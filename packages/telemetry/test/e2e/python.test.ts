import { hostname } from "node:os";
import { join } from "node:path";
import { AlwaysOffSampler } from "@opentelemetry/sdk-trace";
import { python } from "@snakepit/adapter-python";
import { createPool } from "@snakepit/core";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { nowhere } from "../exports/receiver.ts";
import { unregister } from "../support/memory-sdk.ts";
import {
	openTracedPool,
	PYTHON,
	type ReceivedSpan,
	Receiver,
} from "./receiver.ts";

afterEach(() => {
	unregister();
	vi.unstubAllEnvs();
});

test("one trace goes from the caller into the Python tool, back into this program, and is received whole", {
	timeout: 90_000,
}, async () => {
	const receiver = await Receiver.start(PYTHON);
	const { pool, sdk } = await openTracedPool(receiver.url);
	expect(await pool.execute("price", { of: "tea" })).toBe(3);
	await sdk.tracers.forceFlush();
	await receiver.until("price");
	const call = await receiver.until("call price");
	await receiver.until("look up");
	expect(receiver.tree(call)).toBe(
		[
			"call price (@snakepit/telemetry)",
			"  attempt price (@snakepit/telemetry)",
			"    price (snakepit_bridge)",
			"      look up (tools)",
			"        back-call catalogue (snakepit_bridge)",
			"          back-call catalogue (@snakepit/telemetry)",
		].join("\n"),
	);

	expect(await Array.fromAsync(pool.stream("count", { to: 2 }))).toEqual([
		0, 1,
	]);
	await sdk.tracers.forceFlush();
	await receiver.until("count");
	await receiver.until("item 1");
	expect(receiver.tree(await receiver.until("call count"))).toContain(
		"      item 0 (tools)\n      item 1 (tools)",
	);
});

test("what is not sampled here is not sampled there", {
	timeout: 90_000,
}, async () => {
	const receiver = await Receiver.start(PYTHON);
	const { pool } = await openTracedPool(receiver.url, new AlwaysOffSampler());
	expect(await pool.execute("price", { of: "tea" })).toBe(3);
	// The worker sends what it has before it ends.
	await pool.close();
	expect(receiver.spans).toEqual([]);
});

test("a receiver that is down hurts no call, and a worker that cannot export is reported once", {
	timeout: 90_000,
}, async () => {
	const { pool } = await openTracedPool(await nowhere());
	const reported = Promise.withResolvers<unknown>();
	pool.on("telemetry.misconfigured", (event) => {
		if (event.reason === "worker_exporter_failed") reported.resolve(event);
	});
	expect(await pool.execute("price", { of: "tea" })).toBe(3);
	await expect(pool.execute("divide", { by: 0 })).rejects.toMatchObject({
		remote: { type: "ZeroDivisionError" },
	});
	expect(await reported.promise).toMatchObject({
		reason: "worker_exporter_failed",
		message: expect.stringContaining("opentelemetry."),
		remedy: expect.stringContaining("python({ env })"),
	});
});

test("what a tool measures and logs is received, the record in the tool's span", {
	timeout: 90_000,
}, async () => {
	const receiver = await Receiver.start(PYTHON);
	const { pool } = await openTracedPool(receiver.url);
	await pool.execute("weigh", { kilograms: 3 });
	const tool = await receiver.until("weigh");
	const resource = { "service.name": "workers" };
	expect(tool).toMatchObject({ resource });
	expect(await receiver.untilPoint("weighed")).toMatchObject({
		resource,
		scope: "tools",
		unit: "kg",
		kind: "sum",
		value: 3,
		attributes: { of: "tea" },
	});
	expect(await receiver.untilPoint("weights")).toMatchObject({
		kind: "histogram",
		value: 1,
		boundaries: [1, 10],
	});
	expect(
		await receiver.untilRecord(({ body }) => body === "weighed 3 kg"),
	).toMatchObject({
		resource,
		eventName: "",
		severity: "WARN",
		traceId: tool.traceId,
		spanId: tool.spanId,
	});
});

test("what the libraries of a tool do is exported below it, by the service of the host's workers", {
	timeout: 90_000,
}, async () => {
	const receiver = await Receiver.start(PYTHON);
	vi.stubEnv("OTEL_SERVICE_NAME", "shop");
	const pool = await createPool({
		adapter: python({
			tools: join(import.meta.dirname, "sqlite_tools.py"),
			python: PYTHON,
			opentelemetry: "auto",
			env: {
				OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
				OTEL_BSP_SCHEDULE_DELAY: "100",
			},
		}),
		dataDir: temporaryDirectory(),
		size: 1,
	});
	onTestFinished(() => pool.close());
	const [{ pid } = { pid: 0 }] = pool.workers();
	const traceContext = {
		traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
	};
	expect(await pool.execute("add", {}, { traceContext })).toBe(2);
	const tool = await receiver.until("add");
	expect(tool.resource).toMatchObject({
		"service.name": "shop-workers",
		"process.pid": pid,
		"host.name": hostname(),
	});
	expect(await receiver.until("SELECT")).toMatchObject({
		parentSpanId: tool.spanId,
		scope: "opentelemetry.instrumentation.sqlite3",
	});
});

const TIMEOUT = { timeout: 90_000 } as const;

/** The call, its attempt, and the tool's own span, of one trace. */
async function partsOf(
	receiver: Receiver,
	tool: string,
	isMeant?: (call: ReceivedSpan) => boolean,
): Promise<readonly [ReceivedSpan, ReceivedSpan, ReceivedSpan]> {
	const call = await receiver.until(`call ${tool}`, isMeant);
	const isOfIt = ({ traceId }: ReceivedSpan): boolean =>
		traceId === call.traceId;
	const parts = [
		call,
		await receiver.until(`attempt ${tool}`, isOfIt),
		await receiver.until(tool, isOfIt),
	] as const;
	expect(parts[1].parentSpanId).toBe(call.spanId);
	expect(parts[2]).toMatchObject({
		parentSpanId: parts[1].spanId,
		scope: "snakepit_bridge",
	});
	return parts;
}

test(
	"a call that is given up and one past its deadline: both sides tell why, and only the second is an error",
	TIMEOUT,
	async () => {
		const receiver = await Receiver.start(PYTHON);
		const { pool } = await openTracedPool(receiver.url);
		const abort = new AbortController();
		const unsubscribe = pool.on("worker.output", () => abort.abort());
		await expect(
			pool.execute("wait", {}, { signal: abort.signal }),
		).rejects.toMatchObject({ code: "CALL_ABORTED" });
		unsubscribe();
		const [call, attempt, tool] = await partsOf(receiver, "wait");
		expect(call.attributes).toMatchObject({
			"error.type": "CALL_ABORTED",
			"snakepit.call.outcome": "aborted",
		});
		expect(attempt.events).toEqual(["cancelled"]);
		expect(tool.attributes).toMatchObject({
			"snakepit.call.cancel_reason": "caller",
		});
		expect(tool.attributes).not.toHaveProperty("error.type");

		await expect(
			pool.execute("wait", {}, { timeoutMs: 300 }),
		).rejects.toMatchObject({ code: "CALL_TIMEOUT" });
		const [late, lateAttempt, lateTool] = await partsOf(
			receiver,
			"wait",
			({ traceId }) => traceId !== call.traceId,
		);
		expect(late.attributes).toMatchObject({
			"error.type": "CALL_TIMEOUT",
			"snakepit.call.outcome": "timed_out",
		});
		expect(lateAttempt.events).toEqual(["cancelled", "exception"]);
		expect(lateTool.attributes).toMatchObject({
			"snakepit.call.cancel_reason": "deadline",
			"error.type": "DEADLINE",
		});
	},
);

test(
	"a stream whose consumer leaves ends on both sides; a back-call that fails is seen on both",
	TIMEOUT,
	async () => {
		const receiver = await Receiver.start(PYTHON);
		const { pool } = await openTracedPool(receiver.url);
		for await (const item of pool.stream("endless", {})) {
			if (item === 3) break;
		}
		const [, , stream] = await partsOf(receiver, "endless");
		expect(stream.attributes).toMatchObject({
			"snakepit.call.cancel_reason": "caller",
			"snakepit.tool.kind": "generator",
		});

		await expect(pool.execute("sell", { of: "tea" })).rejects.toThrow(
			"sold out",
		);
		const [call, attempt, tool] = await partsOf(receiver, "sell");
		const client = await receiver.until(
			"back-call sell",
			({ scope }) => scope === "snakepit_bridge",
		);
		expect(client).toMatchObject({
			parentSpanId: tool.spanId,
			attributes: { "error.type": "SOLD_OUT" },
			events: [],
		});
		const server = await receiver.until(
			"back-call sell",
			({ scope }) => scope === "@snakepit/telemetry",
		);
		expect(server).toMatchObject({
			traceId: call.traceId,
			parentSpanId: client.spanId,
			attributes: { "error.type": "SOLD_OUT" },
			events: ["exception"],
		});
		expect(attempt.attributes).toMatchObject({ "error.type": "TOOL_FAILED" });
		expect(tool.events).toEqual(["exception"]);
	},
);

test(
	"a worker is killed in a call: the failed attempt, the restart and the retry are seen and linked",
	TIMEOUT,
	async () => {
		const receiver = await Receiver.start(PYTHON);
		const { pool, dataDir } = await openTracedPool(receiver.url);
		const marker = join(dataDir, "marker");
		expect(
			await pool.execute("fragile", { marker }, { retry: { attempts: 2 } }),
		).toBe("alive");
		const call = await receiver.until("call fragile");
		const isOfIt = ({ traceId }: ReceivedSpan): boolean =>
			traceId === call.traceId;
		expect(call.attributes).toMatchObject({
			"snakepit.call.outcome": "succeeded",
		});
		expect(call.events).toEqual(["retried"]);
		const failed = await receiver.until(
			"attempt fragile",
			({ attributes }) => attributes["error.type"] === "WORKER_EXITED",
		);
		expect(failed).toMatchObject({
			parentSpanId: call.spanId,
			attributes: { "snakepit.call.ran": "maybe" },
		});
		const retry = await receiver.until(
			"attempt fragile",
			({ spanId }) => spanId !== failed.spanId,
		);
		expect(retry).toMatchObject({
			parentSpanId: call.spanId,
			links: [
				{
					spanId: failed.spanId,
					attributes: { "snakepit.link": "previous attempt" },
				},
			],
		});
		expect(retry.attributes).not.toHaveProperty("error.type");
		// Of the killed worker no span arrived: nobody was left to send it.
		expect((await receiver.until("fragile", isOfIt)).parentSpanId).toBe(
			retry.spanId,
		);

		const restart = await receiver.until(
			"worker start",
			({ attributes }) => "snakepit.worker.replaces" in attributes,
		);
		expect(restart.traceId).not.toBe(call.traceId);
		expect(restart.attributes).toMatchObject({
			"snakepit.worker.replaces":
				failed.attributes["snakepit.worker.incarnation"],
			"snakepit.worker.incarnation":
				retry.attributes["snakepit.worker.incarnation"],
		});
		expect(restart.links).toContainEqual({
			spanId: failed.spanId,
			attributes: { "snakepit.link": "failed attempt" },
		});

		// A call that may not be made again: its failure is the caller's, and the next works.
		await expect(
			pool.execute("fragile", { marker: `${marker}-2` }),
		).rejects.toMatchObject({ code: "WORKER_EXITED", ran: "maybe" });
		const lost = await receiver.until(
			"call fragile",
			({ traceId }) => traceId !== call.traceId,
		);
		expect(lost.attributes).toMatchObject({
			"error.type": "WORKER_EXITED",
			"snakepit.call.outcome": "failed",
		});
		expect(await pool.execute("fragile", { marker })).toBe("alive");
	},
);
