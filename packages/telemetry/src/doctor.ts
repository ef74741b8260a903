import type { TracerProvider } from "@opentelemetry/api";
import { trace } from "@opentelemetry/api";
import type { LayerReport } from "@snakepit/core/protection";
import { SCOPE } from "./catalogue/attributes.ts";
import { failureOf } from "./export-watch.ts";
import type { ResolvedTelemetryOptions } from "./options.ts";
import type { OtlpEndpoint } from "./otlp-endpoints.ts";
import {
	type Flushing,
	inspectRegistration,
	providersOf,
	signalsOf,
} from "./registration.ts";

const TRY_MS = 5_000;

/**
 * Reports whether what a pool would export now arrives: tries each endpoint that `OTEL_*` names with an empty request.
 * If they name none, it exports a span, for the exporter may be configured in code.
 */
export async function inspectExports(
	options: ResolvedTelemetryOptions,
): Promise<LayerReport> {
	const report = inspectRegistration(options);
	if (report.status !== "active") return report;
	const { otlpEndpoints } = await import("./otlp-endpoints.ts");
	const endpoints = otlpEndpoints(signalsOf(options));
	if (endpoints.length > 0) return await tryAll(report, endpoints);
	const { traces } = providersOf(options);
	if (traces === undefined) return report;
	const tracers = options.tracerProvider ?? trace.getTracerProvider();
	return await trySpan(report, tracers, traces);
}

async function tryAll(
	report: LayerReport,
	endpoints: readonly OtlpEndpoint[],
): Promise<LayerReport> {
	const { tryEndpoint } = await import("./otlp-endpoints.ts");
	const byUrl = new Map(endpoints.map((each) => [each.url, each]));
	const answers = await Promise.all(
		[...byUrl.values()].map(
			async (endpoint) =>
				[endpoint.url, await tryEndpoint(endpoint, TRY_MS)] as const,
		),
	);
	for (const [url, answer] of answers)
		if (answer.kind !== "answered")
			return {
				...report,
				status: "unavailable",
				detail: `${report.detail}; but ${url} ${answer.kind === "silent" ? "does not answer" : "refuses data"}: ${answer.reason}`,
				remedy:
					"Start the receiver, or correct OTEL_EXPORTER_OTLP_ENDPOINT and its headers.",
			};
	return {
		...report,
		detail: `${report.detail}; ${[...byUrl.keys()].join(", ")} ${byUrl.size === 1 ? "answers" : "answer"}`,
	};
}

async function trySpan(
	report: LayerReport,
	tracers: TracerProvider,
	exporting: Flushing,
): Promise<LayerReport> {
	const { name, version, schemaUrl } = SCOPE;
	const span = tracers
		.getTracer(name, version, { schemaUrl })
		.startSpan("doctor", { root: true });
	const isRecorded = span.isRecording();
	span.end();
	const timeout = AbortSignal.timeout(TRY_MS);
	const late = Promise.withResolvers<{ readonly reason: string }>();
	timeout.addEventListener("abort", () =>
		late.resolve({ reason: `not within ${TRY_MS / 1_000} s` }),
	);
	const failure = await Promise.race([
		failureOf(exporting, "spans"),
		late.promise,
	]);
	if (failure === undefined)
		return {
			...report,
			detail: `${report.detail}; the span "doctor" was ${isRecorded ? "exported" : "not sampled"}`,
		};
	return {
		...report,
		status: "unavailable",
		detail: `${report.detail}; but the span "doctor" could not be exported: ${failure.reason}`,
		remedy: "Start the receiver, or correct the exporter's URL and headers.",
	};
}
