import { join } from "node:path";
import { SpanStatusCode } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { python } from "@snakepit/adapter-python";
import { createPool, type Pool } from "@snakepit/core";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { telemetry } from "../../src/index.ts";
import { MemorySdk, unregister } from "../support/memory-sdk.ts";
import { PYTHON } from "./receiver.ts";

let sdk: MemorySdk;
beforeEach(() => {
	sdk = new MemorySdk().register();
});
afterEach(unregister);

async function openPool(tools: string): Promise<Pool> {
	const pool = await createPool({
		adapter: python({
			tools: join(import.meta.dirname, tools),
			python: PYTHON,
		}),
		dataDir: temporaryDirectory(),
		size: 1,
		heartbeat: { intervalMs: 200, hungAfterMs: 1_500 },
		output: { echo: "none" },
		instruments: [telemetry()],
	});
	onTestFinished(() => pool.close());
	return pool;
}

/** The spans that have an exception, with its message. */
async function exceptions(): Promise<readonly (readonly [string, string])[]> {
	return (await sdk.spans()).flatMap(({ name, events }: ReadableSpan) =>
		events.flatMap((event) =>
			event.name === "exception"
				? [[name, String(event.attributes?.["exception.message"])] as const]
				: [],
		),
	);
}

test.each([
	["crash", "WORKER_EXITED", ["SIGABRT", "the last words", "in crash"]],
	["deadlock", "WORKER_HUNG", ["heartbeat.hungAfterMs", "in deadlock"]],
] as const)(
	"the trace of a call has what its worker said before it was lost: %s",
	{ timeout: 60_000 },
	async (tool, code, words) => {
		const pool = await openPool("faults_tools.py");
		await expect(pool.execute(tool)).rejects.toMatchObject({ code });
		await pool.close();
		const attempt = await sdk.span(`attempt ${tool}`);
		expect(attempt.attributes["error.type"]).toBe(code);
		const recorded = await exceptions();
		expect(recorded.map(([name]) => name)).toEqual([`attempt ${tool}`]);
		for (const word of words) expect(recorded[0]?.[1]).toContain(word);
		// The close withdraws the start of a successor, which is no failure.
		for (const span of await sdk.spans())
			if (span.name === "worker start")
				expect(span.status.code).toBe(SpanStatusCode.UNSET);
	},
);

test("the trace of a start has the error of the tools, once", {
	timeout: 60_000,
}, async () => {
	await expect(openPool("missing_model.py")).rejects.toMatchObject({
		code: "TOOLS_IMPORT_FAILED",
	});
	const recorded = await exceptions();
	expect(recorded.map(([name]) => name)).toEqual(["worker start"]);
	expect(recorded[0]?.[1]).toContain("/not/mounted/model.bin");
	const { status, attributes } = await sdk.span("pool start");
	expect(status.code).toBe(SpanStatusCode.ERROR);
	expect(attributes["error.type"]).toBe("TOOLS_IMPORT_FAILED");
});
