import {
	context,
	propagation,
	SpanStatusCode,
	trace,
} from "@opentelemetry/api";
import { lines } from "@snakepit/adapter-stdio";
import { openRun, type Run } from "@snakepit/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { telemetry, traceJobs } from "../../src/index.ts";
import { MemorySdk, tree, unregister } from "../support/memory-sdk.ts";

let sdk: MemorySdk;
beforeEach(() => {
	sdk = new MemorySdk().register();
});
afterEach(unregister);

test("each job of a run without a pool has a span, below the span of its creator", async () => {
	const dataDir = temporaryDirectory();
	const run = await openRun({ dataDir, onEvent: traceJobs() });
	await trace.getTracer("test").startActiveSpan("import", async (span) => {
		await run.job(["true"]).result();
		await run
			.job(["sh", "-c", "exit 3"])
			.result()
			.catch(() => {});
		span.end();
	});
	await run.close();
	const root = await sdk.span("import");
	expect(tree(await sdk.spans(), root).split("\n")).toEqual([
		"import",
		"  job true",
		"  job sh",
	]);
	expect((await sdk.span("job true")).attributes).toMatchObject({
		"snakepit.job.program": "true",
		"snakepit.job.outcome": "succeeded",
		"process.pid": expect.any(Number),
		"process.exit.code": 0,
	});
	const failed = await sdk.span("job sh");
	expect(failed.attributes).toMatchObject({
		"snakepit.job.outcome": "failed",
		"error.type": "JOB_FAILED",
		"process.exit.code": 3,
	});
	expect(failed.status.code).toBe(SpanStatusCode.ERROR);
});

/** The context that a program finds in its environment, by three of its variables. */
async function found(
	run: Run,
	options: Parameters<Run["job"]>[1] = {},
): Promise<readonly string[]> {
	const script = 'echo "$TRACEPARENT"; echo "$TRACESTATE"; echo "$BAGGAGE"';
	return (await run.job(["sh", "-c", script], options).text()).split("\n");
}

test("the program of a job finds the context of its span in its environment, unless the job sets it", async () => {
	const dataDir = temporaryDirectory();
	const run = await openRun({ dataDir, onEvent: traceJobs() });
	const baggage = propagation.createBaggage({ tenant: { value: "acme" } });
	const [traceparent, , carried] = await context.with(
		propagation.setBaggage(context.active(), baggage),
		() => found(run),
	);
	const { traceId, spanId } = (await sdk.span("job sh")).spanContext();
	expect(traceparent).toBe(`00-${traceId}-${spanId}-01`);
	expect(carried).toBe("tenant=acme");
	expect(await found(run, { env: { TRACEPARENT: "mine" } })).toEqual(
		expect.arrayContaining(["mine"]),
	);
	expect((await found(run, { env: { TRACEPARENT: undefined } }))[0]).toBe("");
	await run.close();
});

test("without an SDK a job finds no context", async () => {
	unregister();
	const dataDir = temporaryDirectory();
	const run = await openRun({ dataDir, onEvent: traceJobs() });
	expect(await found(run)).toEqual(["", "", "", ""]);
	await run.close();
});

test("a program on standard input and output finds the context of its worker's start, and a job beside it its own", async () => {
	const dataDir = temporaryDirectory();
	const run = await openRun({ dataDir });
	const pool = await run.createPool({
		adapter: lines({
			command: [
				"sh",
				"-c",
				'while read line; do echo "$TRACEPARENT$BAGGAGE"; done',
			],
		}),
		size: 1,
		instruments: [telemetry()],
	});
	const traceparent = await pool.execute("tell", "");
	const { traceId, spanId } = (await sdk.span("worker start")).spanContext();
	expect(traceparent).toBe(`00-${traceId}-${spanId}-01`);
	const [ofJob] = await found(run);
	expect(ofJob).toContain((await sdk.span("job sh")).spanContext().spanId);
	await run.close();
});
