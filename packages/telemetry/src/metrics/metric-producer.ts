import { type HrTime, ValueType } from "@opentelemetry/api";

/** The part of the SDK's `MetricProducer` that is used here: a reader takes it as one of its `metricProducers`. */
export interface MetricProducerLike {
	collect(): Promise<CollectedMetrics>;
}

export interface CollectedMetrics {
	readonly resourceMetrics: {
		/** A reader expects the type of its own SDK. */
		readonly resource: never;
		readonly scopeMetrics: CollectedScope[];
	};
	readonly errors: unknown[];
}

interface CollectedScope {
	readonly scope: { readonly name: string };
	readonly metrics: CollectedHistogram[];
}

/** The SDK's `HistogramMetricData`. */
export interface CollectedHistogram {
	readonly descriptor: {
		readonly name: string;
		readonly description: string;
		readonly unit: string;
		readonly valueType: ValueType;
	};
	readonly aggregationTemporality: 0 | 1;
	readonly dataPointType: 0;
	readonly dataPoints: HistogramPoint[];
}

export interface HistogramPoint {
	readonly startTime: HrTime;
	readonly endTime: HrTime;
	/** The two major versions of the API name the type of a value differently. */
	readonly attributes: { [name: string]: string | number | boolean };
	readonly value: {
		readonly buckets: { boundaries: number[]; counts: number[] };
		readonly sum: number;
		readonly count: number;
	};
}

/** The values of the SDK's enumerations `DataPointType` and `AggregationTemporality`. */
export const HISTOGRAM = 0;
export const DELTA = 0;
export const CUMULATIVE = 1;

export type Temporality = typeof DELTA | typeof CUMULATIVE;

export const DOUBLE: ValueType = ValueType.DOUBLE;

/** A time in OpenTelemetry's form: seconds and nanoseconds. */
export function hrTime(ms: number): HrTime {
	const seconds = Math.trunc(ms / 1_000);
	return [seconds, Math.round((ms - seconds * 1_000) * 1_000_000)];
}
