// What is exported, as data: the reference, the dashboards and the alerts are generated from it.
export {
	ATTRIBUTES,
	type AttributeDefinition,
	type AttributeName,
} from "./catalogue/attributes.ts";
export type {
	EventPlace,
	EventPlaces,
	Severity,
	Value,
} from "./catalogue/event-place.ts";
export { EVENTS, eventName } from "./catalogue/events.ts";
export type {
	MetricDefinition,
	MetricKind,
	MetricName,
} from "./catalogue/metrics.ts";
export { METRICS } from "./catalogue/metrics.ts";
export {
	SPAN_EVENTS,
	SPANS,
	type SpanDefinition,
	type SpanEventDefinition,
	type SpanEventName,
	type SpanKindName,
} from "./catalogue/spans.ts";
export type { CommandTelemetry, TracesPerSecond } from "./commands.ts";
export {
	type EventLogger,
	type LogEventsOptions,
	logEvents,
} from "./log-events.ts";
export type {
	LoggerLike,
	LoggerProviderLike,
	LogRecordLike,
} from "./logs/logger-provider.ts";
export type {
	CollectedMetrics,
	MetricProducerLike,
} from "./metrics/metric-producer.ts";
export {
	type CallMetricsOptions,
	callMetrics,
} from "./metrics/register-call-metrics.ts";
export type { TelemetryOptions } from "./options.ts";
export { type NamingScheme, prometheusName } from "./prometheus-names.ts";
export { SCOPE } from "./scope.ts";
export type { Group } from "./switches.ts";
export { telemetry } from "./telemetry.ts";
export { traceJobs } from "./trace-jobs.ts";
