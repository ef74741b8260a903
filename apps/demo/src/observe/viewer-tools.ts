/** The methods of the viewer's JSON-RPC and what they answer, as far as that is used here. */
export type ViewerTools = {
	getStats(args: readonly []): ViewerStatistics;
	searchTraces(range: TimeRange): readonly TraceSummary[];
	searchSpans(args: readonly [traceId: string]): {
		readonly spans: readonly { readonly spanData: ViewedSpan }[];
	};
	searchMetricSummaries(range: TimeRange): readonly MetricSummary[];
	searchLogs(range: TimeRange): readonly {
		readonly id: string;
		readonly severityText: string;
	}[];
	getLog(args: readonly [id: string]): { readonly eventName: string };
};

/** In nanoseconds since the Unix epoch, as decimal digits. */
export type TimeRange = readonly [from: string, to: string];

export interface ViewerStatistics {
	readonly traces: { readonly traceCount: number; readonly spanCount: number };
	readonly metrics: { readonly metricCount: number };
	readonly logs: { readonly logCount: number };
}

export interface TraceSummary {
	readonly traceID: string;
	readonly rootSpan: {
		readonly serviceName: string | null;
		readonly name: string;
	} | null;
	readonly spanCount: number;
	readonly errorCount: number;
}

export interface ViewedSpan {
	readonly spanID: string;
	readonly parentSpanID: string | null;
	readonly name: string;
	readonly statusCode: string;
	readonly resource: {
		readonly attributes: readonly {
			readonly key: string;
			readonly value: string;
		}[];
	};
}

export interface MetricSummary {
	readonly name: string;
	readonly unit: string;
	readonly serviceName: string;
	readonly dataPointCount: number;
}
