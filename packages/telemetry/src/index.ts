// What is exported, as data: the reference, the dashboards and the alerts are generated from it.
export {
	ATTRIBUTES,
	type AttributeDefinition,
	type AttributeName,
	SCOPE,
	type Scope,
} from "./catalogue/attributes.ts";
export {
	EVENTS,
	type EventExport,
	eventName,
	type Severity,
	type Value,
} from "./catalogue/events.ts";
export type {
	MetricDefinition,
	MetricKind,
	MetricName,
} from "./catalogue/metrics.ts";
export {
	METRICS,
	type NamingScheme,
	prometheusName,
} from "./catalogue/metrics.ts";
export {
	SPAN_EVENTS,
	SPANS,
	type SpanDefinition,
	type SpanEventDefinition,
	type SpanEventName,
	type SpanKindName,
} from "./catalogue/spans.ts";
export {
	EXCEPTION_RECORDS,
	type ExceptionRecord,
	type ExceptionRecordName,
} from "./exceptions.ts";
export {
	type EventLogger,
	type LeveledLogger,
	type LogEntry,
	type LogEventsOptions,
	logEvents,
} from "./log-events.ts";
export type {
	LoggerLike,
	LoggerProviderLike,
	LogRecordLike,
} from "./logs.ts";
export type {
	CollectedMetrics,
	MetricProducerLike,
} from "./metrics/call-metrics-reader.ts";
export {
	type CallMetricsOptions,
	callMetrics,
} from "./metrics/call-metrics-reader.ts";
export type {
	CallOfSpan,
	CallSpans,
	CommandTelemetry,
	TelemetryOptions,
	TracesPerSecond,
} from "./options.ts";
export { telemetry } from "./telemetry.ts";
export { traceJobs } from "./trace/pool-trace.ts";
