import {
	context,
	DiagLogLevel,
	diag,
	type HrTime,
	logs,
	metrics,
	propagation,
	trace,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
	CompositePropagator,
	W3CBaggagePropagator,
	W3CTraceContextPropagator,
} from "@opentelemetry/core";
import {
	InMemoryLogRecordExporter,
	LoggerProvider,
	type ReadableLogRecord,
	SimpleLogRecordProcessor,
} from "@opentelemetry/sdk-logs";
import {
	AggregationTemporality,
	InMemoryMetricExporter,
	MeterProvider,
	type MetricData,
	PeriodicExportingMetricReader,
	type ScopeMetrics,
} from "@opentelemetry/sdk-metrics";
import {
	AlwaysOnSampler,
	InMemorySpanExporter,
	ParentBasedSampler,
	type ReadableSpan,
	type Sampler,
	SimpleSpanProcessor,
	type SpanExporter,
	TracerProvider,
} from "@opentelemetry/sdk-trace";

/** One series of a metric, as a test looks at it. */
export interface Series {
	readonly attributes: Readonly<Record<string, unknown>>;
	/** Of a counter or gauge; the number of measurements of a histogram. */
	readonly value: number;
	/** Of a histogram. */
	readonly sum?: number | undefined;
	readonly boundaries?: readonly number[];
}

/** An SDK whose exporters are in memory, registered for the whole program. */
export class MemorySdk {
	readonly #spans = new InMemorySpanExporter();
	readonly #logs = new InMemoryLogRecordExporter();
	readonly #metrics = new InMemoryMetricExporter(
		AggregationTemporality.CUMULATIVE,
	);
	readonly #reader = new PeriodicExportingMetricReader({
		exporter: this.#metrics,
		exportIntervalMillis: 3_600_000,
	});
	/** What the SDK warns of: that it is used wrongly. */
	readonly problems: string[] = [];
	readonly tracers: TracerProvider;
	readonly meters: MeterProvider;
	readonly loggers: LoggerProvider;

	constructor({
		sampler = new AlwaysOnSampler(),
		exporter,
	}: { readonly sampler?: Sampler; readonly exporter?: SpanExporter } = {}) {
		this.tracers = new TracerProvider({
			sampler: new ParentBasedSampler({ root: sampler }),
			spanProcessors: [
				new SimpleSpanProcessor({ exporter: exporter ?? this.#spans }),
			],
		});
		this.meters = new MeterProvider({ readers: [this.#reader] });
		this.loggers = new LoggerProvider({
			processors: [new SimpleLogRecordProcessor({ exporter: this.#logs })],
		});
	}

	register(): this {
		unregister();
		context.setGlobalContextManager(
			new AsyncLocalStorageContextManager().enable(),
		);
		propagation.setGlobalPropagator(
			new CompositePropagator({
				propagators: [
					new W3CTraceContextPropagator(),
					new W3CBaggagePropagator(),
				],
			}),
		);
		const report = (what: string) => this.problems.push(what);
		const silent = () => {};
		diag.setLogger(
			{
				error: report,
				warn: report,
				info: silent,
				debug: silent,
				verbose: silent,
			},
			DiagLogLevel.WARN,
		);
		trace.setGlobalTracerProvider(this.tracers);
		metrics.setGlobalMeterProvider(this.meters);
		logs.setGlobalLoggerProvider(this.loggers);
		return this;
	}

	async spans(): Promise<readonly ReadableSpan[]> {
		await this.tracers.forceFlush();
		return this.#spans.getFinishedSpans();
	}

	async span(name: string): Promise<ReadableSpan> {
		const spans = await this.spans();
		const found = spans.find((span) => span.name === name);
		if (found === undefined)
			throw new Error(
				`No span "${name}"; there are ${spans.map((span) => span.name).join(", ")}.`,
			);
		return found;
	}

	logs(): readonly ReadableLogRecord[] {
		return this.#logs.getFinishedLogRecords();
	}

	async metrics(): Promise<readonly MetricData[]> {
		return (await this.#collected()).flatMap(({ metrics }) => metrics);
	}

	/** The instrumentation scopes of metrics. */
	async scopes(): Promise<readonly object[]> {
		return (await this.#collected()).map(({ scope }) => scope);
	}

	async #collected(): Promise<readonly ScopeMetrics[]> {
		this.#metrics.reset();
		await this.meters.forceFlush();
		return this.#metrics
			.getMetrics()
			.flatMap(({ scopeMetrics }) => scopeMetrics);
	}

	async series(name: string): Promise<readonly Series[]> {
		const metric = (await this.metrics()).find(
			({ descriptor }) => descriptor.name === name,
		);
		return (metric?.dataPoints ?? []).map(({ attributes, value }) =>
			typeof value === "number"
				? { attributes, value }
				: {
						attributes,
						value: value.count,
						sum: value.sum,
						...("buckets" in value &&
							"boundaries" in value.buckets && {
								boundaries: value.buckets.boundaries,
							}),
					},
		);
	}
}

/** No SDK is registered any more. */
export function unregister(): void {
	for (const api of [context, propagation, trace, metrics, logs, diag])
		api.disable();
}

/** Milliseconds since the Unix epoch. */
export function milliseconds([seconds, nanoseconds]: HrTime): number {
	return seconds * 1_000 + nanoseconds / 1_000_000;
}

/** The spans of one trace as lines, children indented below their parents in the order of their starts. */
export function tree(spans: readonly ReadableSpan[], of: ReadableSpan): string {
	const shown = spans
		.toSorted((a, b) => milliseconds(a.startTime) - milliseconds(b.startTime))
		.map((span) => ({
			...span.spanContext(),
			parentSpanId: span.parentSpanContext?.spanId ?? "",
			name: span.name,
		}));
	return treeOf(shown, of.spanContext());
}

/** A span, as a line of a tree has it. */
interface TreeSpan {
	readonly traceId: string;
	readonly spanId: string;
	/** Empty for the first of its trace. */
	readonly parentSpanId: string;
	readonly name: string;
}

/** The spans of one trace as lines, children indented below their parents. */
export function treeOf(
	spans: readonly TreeSpan[],
	{ traceId }: Pick<TreeSpan, "traceId">,
): string {
	const own = spans.filter((span) => span.traceId === traceId);
	const ids = new Set(own.map(({ spanId }) => spanId));
	const under = (parent: string | undefined, depth: number): string[] =>
		own
			.filter(({ parentSpanId }) =>
				parent === undefined ? !ids.has(parentSpanId) : parentSpanId === parent,
			)
			.flatMap(({ name, spanId }) => [
				`${"  ".repeat(depth)}${name}`,
				...under(spanId, depth + 1),
			]);
	return under(undefined, 0).join("\n");
}
