import * as api from "@opentelemetry/api";
import {
	metrics,
	type ProxyTracerProvider,
	type TracerProvider,
	trace,
} from "@opentelemetry/api";
import type { InstrumentProblem } from "@snakepit/core/instrument";
import type { LayerReport } from "@snakepit/core/protection";
import type { LoggerProviderLike } from "./logs.ts";
import type { Meters } from "./metrics/meters.ts";
import type { ResolvedTelemetryOptions } from "./options.ts";
import type { Signal } from "./otlp-endpoints.ts";
import type { Spans } from "./trace/spans.ts";

/** Whether meters and spans are dropped. */
interface Exporting {
	readonly meters: Pick<Meters, "isSilent">;
	readonly spans: Pick<Spans, "isSilent">;
}

/** The signals that are exported without the API. */
type OwnProviders = Pick<
	ResolvedTelemetryOptions,
	"tracerProvider" | "meterProvider"
>;

/**
 * Detects a registered SDK that receives nothing from this package. It checks again until the SDK receives everything,
 * and reports a problem once.
 */
export class Registration {
	readonly #own: OwnProviders;
	#state: "looking" | "settled" = "looking";

	constructor(own: OwnProviders) {
		this.#own = own;
	}

	/** Called with every event except those of calls, so it must cost nothing once the answer is final. */
	look(exporting: Exporting): InstrumentProblem | undefined {
		if (this.#state === "settled") return undefined;
		const problem =
			refused(this.#own) ?? preempted(this.#own) ?? late(exporting);
		const isSilent = exporting.meters.isSilent || exporting.spans.isSilent;
		if (problem !== undefined || !isSilent) this.#state = "settled";
		return problem;
	}
}

/**
 * The API returns the registered provider only to a copy of itself that is not newer than the copy that registered it.
 * Other copies get a provider that does nothing. So a copy that does not get the registered provider was refused.
 */
function refused({
	tracerProvider,
	meterProvider,
}: OwnProviders): InstrumentProblem | undefined {
	const registered = registeredApi();
	if (registered === undefined) return undefined;
	const { version, trace: tracers, metrics: meters } = registered;
	const refusesTracers =
		tracers !== undefined && tracers !== trace.getTracerProvider();
	const refusesMeters =
		meters !== undefined && meters !== metrics.getMeterProvider();
	if (!refusesTracers && !refusesMeters) return undefined;
	const lost = [
		...(refusesTracers && tracerProvider === undefined ? ["spans"] : []),
		...(refusesMeters && meterProvider === undefined ? ["metrics"] : []),
	];
	const exported = lost.length === 0 ? "" : `${ofSnakepit(lost)}, and `;
	return {
		reason: "api_newer_than_registered",
		message: `The OpenTelemetry SDK is registered with @opentelemetry/api ${version}, but @snakepit/telemetry has a newer copy of it, which ignores an SDK registered with an older one: ${exported}a caller's trace does not reach the workers.`,
		remedy: `Use one version everywhere: npm install @opentelemetry/api@${version}, and "overrides" in package.json if a dependency has another one. \`npm ls @opentelemetry/api\` lists the copies.`,
	};
}

/**
 * The first copy of the API that registers anything, a context manager for example, decides the version: what another
 * version registers later, such as the SDK, is refused with no more than a line in the SDK's own log.
 */
function preempted({
	tracerProvider,
	meterProvider,
}: OwnProviders): InstrumentProblem | undefined {
	if (tracerProvider !== undefined && meterProvider !== undefined)
		return undefined;
	const registered = registeredApi();
	if (registered === undefined) return undefined;
	const { version, trace: tracers, metrics: meters } = registered;
	if (tracers !== undefined || meters !== undefined) return undefined;
	if (!refusesThisCopy(registered)) return undefined;
	return {
		reason: "api_of_another_version",
		message: `Another copy of the OpenTelemetry API, @opentelemetry/api ${version}, registered first in this program, and no SDK is registered: one that uses the version of @snakepit/telemetry is refused without a word. No spans and no metrics are exported.`,
		remedy: `Use one version everywhere: "overrides" in package.json for the dependency that has ${version}, or npm install @opentelemetry/api@${version}. \`npm ls @opentelemetry/api\` lists the copies.`,
	};
}

/** Whether another version has registered something, so that this one may not. */
const refusals = new WeakMap<RegisteredApi, boolean>();

/** The API tells its version to nobody: so something is registered that does nothing, and taken back. */
function refusesThisCopy(registered: RegisteredApi): boolean {
	let refuses = refusals.get(registered);
	if (refuses === undefined) {
		refuses = !metrics.setGlobalMeterProvider(metrics.getMeterProvider());
		if (!refuses) metrics.disable();
		refusals.set(registered, refuses);
	}
	return refuses;
}

/**
 * Meters of the API never get a provider that is registered later. Tracers do, but not from another copy of the API.
 */
function late({ meters, spans }: Exporting): InstrumentProblem | undefined {
	const registered = registeredApi();
	const lost = [
		...(registered?.trace !== undefined && spans.isSilent ? ["spans"] : []),
		...(registered?.metrics !== undefined && meters.isSilent
			? ["metrics"]
			: []),
	];
	if (lost.length === 0) return undefined;
	return {
		reason: "sdk_registered_late",
		message: `An OpenTelemetry SDK was registered after the first pool with telemetry() was made: ${ofSnakepit(lost)}.`,
		remedy:
			"Register the SDK before the first createPool, preferably in its own file: node --import ./instrumentation.js program.js.",
	};
}

function ofSnakepit(lost: readonly string[]): string {
	return `no ${lost.join(" and no ")} of Snakepit are exported`;
}

const LAYER = "telemetry";

/** Reports what would be exported if a pool were created now. */
export function inspectRegistration({
	enabled,
	tracerProvider,
	meterProvider,
	loggerProvider,
}: ResolvedTelemetryOptions): LayerReport {
	if (!enabled)
		return { layer: LAYER, status: "available", detail: "is switched off" };
	const own = { tracerProvider, meterProvider };
	const problem = refused(own) ?? preempted(own);
	if (problem !== undefined)
		return {
			layer: LAYER,
			status: "unavailable",
			detail: problem.message,
			remedy: problem.remedy,
		};
	const registered = registeredApi();
	const signals = {
		traces: tracerProvider ?? registered?.trace,
		metrics: meterProvider ?? registered?.metrics,
		"log records": loggerProvider ?? registeredLogs(),
	};
	const names = Object.keys(signals) as (keyof typeof signals)[];
	const exported = names.filter((name) => signals[name] !== undefined);
	if (exported.length === 0)
		return {
			layer: LAYER,
			status: "available",
			detail: "no OpenTelemetry SDK is registered in this program",
			remedy:
				"Register one before the first createPool, preferably in its own file: node --import ./instrumentation.js program.js.",
		};
	const missing = names.filter((name) => signals[name] === undefined);
	return {
		layer: LAYER,
		status: "active",
		detail: `a provider is registered for ${exported.join(", ")}${missing.length === 0 ? "" : `; none for ${missing.join(", ")}`}`,
	};
}

/** The providers that are registered with one copy of `@opentelemetry/api`, for all copies in the program. */
interface RegisteredApi {
	/** The version of the copy that registered first. */
	readonly version: string;
	readonly trace?: unknown;
	readonly propagation?: unknown;
	readonly metrics?: unknown;
	readonly logs?: unknown;
}

/** Source: @opentelemetry/api, internal/global-utils. */
const KEY = /^opentelemetry\.js\.api\.\d+$/;

/**
 * Returns what is registered in this program, whether or not this package's own copy
 * of the API can use it; `undefined` if nothing is.
 */
export function registeredApi(): RegisteredApi | undefined {
	for (const key of Object.getOwnPropertySymbols(globalThis)) {
		if (!KEY.test(key.description ?? "")) continue;
		const api = (globalThis as { [key]?: RegisteredApi })[key];
		if (typeof api?.version === "string") return api;
	}
	return undefined;
}

/** The methods that an SDK's providers have in addition to the API. */
export interface Flushing {
	forceFlush?(): Promise<void>;
}

/** The providers that are used: those of the options, else the registered ones; `undefined` for one that does nothing. */
export function providersOf({
	tracerProvider,
	meterProvider,
	loggerProvider,
}: Pick<
	ResolvedTelemetryOptions,
	"tracerProvider" | "meterProvider" | "loggerProvider"
>): Readonly<Record<Signal, Flushing | undefined>> {
	const flushing = (provider: unknown): Flushing | undefined =>
		typeof (provider as Flushing | undefined)?.forceFlush === "function"
			? (provider as Flushing)
			: undefined;
	return {
		traces: flushing(tracerProvider ?? behind(trace.getTracerProvider())),
		metrics: flushing(meterProvider ?? metrics.getMeterProvider()),
		logs: flushing(loggerProvider ?? registeredLogs()),
	};
}

/** The signals for which a provider is registered, or one of the options. */
export function signalsOf(
	options: Parameters<typeof providersOf>[0],
): readonly Signal[] {
	const providers = providersOf(options);
	return (["traces", "metrics", "logs"] as const).filter(
		(signal) => providers[signal] !== undefined,
	);
}

/** Flushes the SDK: traces, metrics and logs, each even if another one fails. */
export async function flush(
	options: Parameters<typeof providersOf>[0],
): Promise<void> {
	await Promise.allSettled(
		Object.values(providersOf(options)).map(async (provider) =>
			provider?.forceFlush?.(),
		),
	);
}

/** The API registers a proxy of the SDK's provider. */
function behind(registered: TracerProvider): TracerProvider {
	const proxy = registered as Partial<ProxyTracerProvider>;
	return proxy.getDelegate?.() ?? registered;
}

/** From 1.10 on. */
interface ApiWithLogs {
	readonly logs?: { getLoggerProvider(): LoggerProviderLike };
}

/**
 * The registered provider; `undefined` while there is none. SDK 2 registers it with `@opentelemetry/api-logs`,
 * whichever version of `@opentelemetry/api` is installed.
 */
export function registeredLogs(): LoggerProviderLike | undefined {
	return logsOfApi() ?? logsOfApiLogs();
}

function logsOfApi(): LoggerProviderLike | undefined {
	const { logs } = api as ApiWithLogs;
	if (logs === undefined || registeredApi()?.logs === undefined)
		return undefined;
	return logs.getLoggerProvider();
}

/** Source: @opentelemetry/api-logs, internal/global-utils. */
const API_LOGS = Symbol.for("io.opentelemetry.js.api.logs");
/** The version of its interface that is used here; for any other version, it returns a provider that does nothing. */
const API_LOGS_VERSION = 1;

function logsOfApiLogs(): LoggerProviderLike | undefined {
	const { [API_LOGS]: provider } = globalThis as {
		[API_LOGS]?: (version: number) => LoggerProviderLike | undefined;
	};
	return typeof provider === "function"
		? provider(API_LOGS_VERSION)
		: undefined;
}
