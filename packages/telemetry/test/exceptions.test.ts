import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { telemetry } from "../src/index.ts";
import { MemorySdk, unregister } from "./support/memory-sdk.ts";
import { everything } from "./support/scenario.ts";

let sdk: MemorySdk;
beforeEach(() => {
	sdk = new MemorySdk().register();
});
afterEach(() => {
	unregister();
	vi.unstubAllEnvs();
});

/** What was exported of exceptions, with this choice. */
async function exported(choice: string | undefined): Promise<{
	readonly spanEvents: readonly string[];
	readonly records: readonly string[];
	readonly failedStarts: readonly unknown[];
}> {
	vi.stubEnv("OTEL_SEMCONV_EXCEPTION_SIGNAL_OPT_IN", choice);
	await everything(telemetry(), async () => {});
	const spans = await sdk.spans();
	const nameOf = (spanId: string | undefined): string =>
		spans.find((span) => span.spanContext().spanId === spanId)?.name ?? "none";
	const failedStarts = sdk
		.logs()
		.filter(({ eventName }) => eventName?.endsWith(".start_failed"));
	return {
		spanEvents: spans.flatMap(({ name, events }) =>
			events.flatMap((event) => (event.name === "exception" ? [name] : [])),
		),
		records: sdk.logs().flatMap((record) => {
			if (!record.eventName?.startsWith("rpc.")) return [];
			const type = record.attributes["exception.type"];
			const on = nameOf(record.spanContext?.spanId);
			return [`${record.eventName} ${record.severityText} ${type} on ${on}`];
		}),
		failedStarts: failedStarts.map(
			({ attributes }) => attributes["exception.type"],
		),
	};
}

test("exceptions are span events, once each, unless the user chooses log records", async () => {
	const { spanEvents, records, failedStarts } = await exported(undefined);
	expect(records).toEqual([]);
	expect(failedStarts.length).toBeGreaterThan(1);
	expect(failedStarts.every((type) => type === undefined)).toBe(true);
	expect(spanEvents).toContain("worker start");
	expect(spanEvents).toContain("back-call f");
	expect(spanEvents.length).toBeGreaterThan(5);
});

test("chosen as log records, they are in the context of their spans, and no span events", async () => {
	const { spanEvents, records, failedStarts } = await exported("logs");
	expect(spanEvents).toEqual([]);
	expect(records).toContainEqual(
		expect.stringMatching(/^rpc\.client\.call\.exception WARN ValueError on /),
	);
	expect(records).toContain(
		"rpc.server.call.exception ERROR RangeError on back-call f",
	);
	expect(failedStarts).toContain("StartError");
	expect(failedStarts.every((type) => type !== undefined)).toBe(true);
});

test("chosen as both, each is a span event and a log record", async () => {
	const both = await exported("logs/dup");
	const ofCalls = both.spanEvents.filter((name) => !name.endsWith(" start"));
	expect(both.records).toHaveLength(ofCalls.length);
	expect(both.spanEvents).toContain("worker start");
});
