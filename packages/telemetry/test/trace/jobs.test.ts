import { SpanStatusCode, trace } from "@opentelemetry/api";
import { openRun } from "@snakepit/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { traceJobs } from "../../src/index.ts";
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
