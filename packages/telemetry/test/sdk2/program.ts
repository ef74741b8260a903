import { registerHooks } from "node:module";
import * as api from "@opentelemetry/api";
import { context, metrics, propagation, trace } from "@opentelemetry/api";
import { logs } from "@opentelemetry/api-logs";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
	InMemoryLogRecordExporter,
	LoggerProvider,
	SimpleLogRecordProcessor,
} from "@opentelemetry/sdk-logs";
import {
	AggregationTemporality,
	InMemoryMetricExporter,
	MeterProvider,
	PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
	BasicTracerProvider,
	InMemorySpanExporter,
	SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import type { EventOf } from "@snakepit/core";
import type { LayerReport } from "@snakepit/core/protection";
import { type ScriptedCall, virtualPool } from "@snakepit/core/testing";
import type { CollectedLines } from "../support/collected.ts";

/** What the program tells. */
export interface OnSdk2 {
	readonly lines: CollectedLines;
	/** Whether the API that the package found is a later one than SDK 2's. */
	readonly apiHasLogs: boolean;
	/** What travelled to the worker with a call. */
	readonly headers: unknown;
	/** The caller's own span, the call and its attempt. */
	readonly spans: readonly {
		readonly name: string | undefined;
		readonly traceId: string | undefined;
		readonly spanId: string | undefined;
		readonly parentSpanId: string | undefined;
	}[];
}

/** What the package says where its API is newer than the registered one. */
export interface OnNewerApi {
	readonly misconfigured: readonly EventOf<"telemetry.misconfigured">[];
	readonly spans: number;
	readonly events: readonly (string | undefined)[];
	readonly doctor: LayerReport | undefined;
}

/** What the package says where an older API has registered something. */
export interface OnOlderApiFirst {
	readonly isRegistered: boolean;
	readonly misconfigured: readonly EventOf<"telemetry.misconfigured">[];
	readonly doctor: LayerReport | undefined;
}

// The package on the older line of the SDK and its API, in a program of its own: one
// process has one API. Prints as one line of JSON what the SDK received.

// As in a program that has no other API: the package's own peer is this one.
registerHooks({
	resolve: (specifier, from, next) =>
		specifier === "@opentelemetry/api"
			? next(specifier, { ...from, parentURL: import.meta.url })
			: next(specifier, from),
});
const { callMetrics, telemetry } = await import("../../src/index.ts");
const { everything } = await import("../support/scenario.ts");
const { Collected } = await import("../support/collected.ts");

const spans = new InMemorySpanExporter();
const records = new InMemoryLogRecordExporter();
const series = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const meters = new MeterProvider({
	readers: [
		new PeriodicExportingMetricReader({
			exporter: series,
			exportIntervalMillis: 3_600_000,
			metricProducers: [callMetrics()],
		}),
	],
});
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
trace.setGlobalTracerProvider(
	new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
);
metrics.setGlobalMeterProvider(meters);
// This API has no logs of its own: their provider is registered with another package.
logs.setGlobalLoggerProvider(
	new LoggerProvider({
		processors: [new SimpleLogRecordProcessor({ exporter: records })],
	}),
);

const collected = new Collected();
const collect = async (): Promise<void> => {
	series.reset();
	await meters.forceFlush();
	collected.addMetrics(
		series
			.getMetrics()
			.flatMap(({ scopeMetrics }) => scopeMetrics)
			.flatMap((scope) => scope.metrics),
	);
};
await everything(telemetry({ workerLogs: true }), collect);
await collect();
collected.addSpans(spans.getFinishedSpans());
collected.addRecords(records.getFinishedLogRecords());

spans.reset();
const { pool, close } = await virtualPool(
	{ commands: { headers: (call: ScriptedCall) => call.traceContext } },
	{ instruments: [telemetry()] },
);
const headers = await trace
	.getTracer("caller")
	.startActiveSpan("caller", async (span) => {
		const answer = await pool.execute("headers");
		span.end();
		return answer;
	});
await close();
const own = ["caller", "call headers", "attempt headers"].map((name) =>
	spans.getFinishedSpans().find((span) => span.name === name),
);
const answer: OnSdk2 = {
	lines: collected.lines(),
	apiHasLogs: "logs" in api,
	headers,
	spans: own.map((span) => ({
		name: span?.name,
		traceId: span?.spanContext().traceId,
		spanId: span?.spanContext().spanId,
		parentSpanId: span?.parentSpanContext?.spanId,
	})),
};
process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit(0));
