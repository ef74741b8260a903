// The SDK as a program has it that sends in batches, but for what sending costs: that is the exporter's own.
import {
	context,
	type MeterProvider,
	metrics,
	propagation,
	type TracerProvider,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
	BatchLogRecordProcessor,
	LoggerProvider,
} from "@opentelemetry/sdk-logs";
import {
	AggregationTemporality,
	InMemoryMetricExporter,
	PeriodicExportingMetricReader,
	MeterProvider as SdkMeterProvider,
} from "@opentelemetry/sdk-metrics";
import {
	BatchSpanProcessor,
	ParentBasedSampler,
	type ReadableSpan,
	TracerProvider as SdkTracerProvider,
	type SpanExporter,
	TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";
import { callMetrics, type TelemetryOptions } from "../src/index.ts";

/** Takes what it is given and drops it. */
export const sink = {
	export: (_: unknown, done: (result: { code: 0 }) => void): void =>
		done({ code: 0 }),
	shutdown: async (): Promise<void> => {},
	forceFlush: async (): Promise<void> => {},
};

/** What was read of spans: without a use, an optimizing compiler might leave the reading out. */
export const read = { spans: 0, sum: 0 };

/** Reads all of a span that an exporter sends, and drops it: what spans make late has to be made then. */
const reader = {
	...sink,
	export: (
		spans: readonly ReadableSpan[],
		done: (result: { code: 0 }) => void,
	): void => {
		for (const span of spans) {
			read.spans++;
			const { attributes, events, links, status, resource } = span;
			read.sum +=
				span.name.length + span.kind + span.spanContext().traceId.length;
			read.sum += span.startTime[1] + span.endTime[1] + span.duration[1];
			read.sum += events.length + links.length + status.code;
			read.sum +=
				(span.parentSpanContext?.spanId.length ?? 0) +
				Number(resource !== undefined);
			for (const key in attributes)
				read.sum += key.length + String(attributes[key]).length;
		}
		done({ code: 0 });
	},
};

export interface Providers {
	readonly tracerProvider: TracerProvider;
	readonly meterProvider: MeterProvider;
	readonly loggerProvider: LoggerProvider;
}

/**
 * @param share of the traces that are sampled; 1: all.
 * @param exporter of spans.
 */
export function providers(
	share = 1,
	exporter: SpanExporter = reader,
): Providers {
	return {
		tracerProvider: new SdkTracerProvider({
			...(share < 1 && {
				sampler: new ParentBasedSampler({
					root: new TraceIdRatioBasedSampler(share),
				}),
			}),
			spanProcessors: [
				// Nothing may be dropped for want of room: that would be cheaper.
				new BatchSpanProcessor({
					exporter,
					maxQueueSize: 1_000_000,
					scheduledDelayMillis: 100,
				}),
			],
		}),
		meterProvider: new SdkMeterProvider({
			readers: [
				new PeriodicExportingMetricReader({
					exporter: new InMemoryMetricExporter(
						AggregationTemporality.CUMULATIVE,
					),
					exportIntervalMillis: 3_600_000,
				}),
			],
		}),
		loggerProvider: new LoggerProvider({
			processors: [new BatchLogRecordProcessor({ exporter: sink })],
		}),
	};
}

/**
 * What docs/telemetry.md recommends: a reader with `callMetrics()`, which collects every 15 seconds, four times as often
 * as by default, and 20 traces a second of each command.
 */
export function production(): TelemetryOptions {
	const commands = { "*": { traces: { perSecond: 20 } } };
	return { ...withCallMetrics(), commands };
}

/** The same, but for the share of the calls that the SDK's sampler takes. @param spans their exporter. */
export function withCallMetrics(
	share = 1,
	spans: SpanExporter = reader,
): TelemetryOptions {
	setGlobals();
	const exporter = new InMemoryMetricExporter(
		AggregationTemporality.CUMULATIVE,
	);
	metrics.setGlobalMeterProvider(
		new SdkMeterProvider({
			readers: [
				new PeriodicExportingMetricReader({
					exporter: Object.assign(exporter, { export: sink.export }),
					exportIntervalMillis: 15_000,
					exportTimeoutMillis: 15_000,
					metricProducers: [callMetrics()],
				}),
			],
		}),
	);
	const { tracerProvider, loggerProvider } = providers(share, spans);
	return { tracerProvider, loggerProvider };
}

/** What of an SDK is the whole program's: contexts that follow asynchronous code, and the headers of W3C. */
export function setGlobals(): void {
	context.setGlobalContextManager(
		new AsyncLocalStorageContextManager().enable(),
	);
	propagation.setGlobalPropagator(new W3CTraceContextPropagator());
}
