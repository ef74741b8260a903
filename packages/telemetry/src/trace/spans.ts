import {
	type Attributes,
	type AttributeValue,
	type Context,
	isSpanContextValid,
	type Link,
	type ProxyTracerProvider,
	propagation,
	type Span,
	type SpanContext,
	SpanKind,
	type SpanOptions,
	SpanStatusCode,
	TraceFlags,
	type Tracer,
	type TracerProvider,
	trace,
} from "@opentelemetry/api";
import type { SnakepitEvent } from "@snakepit/core";
import { messageOf } from "@snakepit/core/adapter";
import { type AttributeName, SCOPE } from "../catalogue/attributes.ts";
import { attributesOf, codeOf, thrownOf } from "../catalogue/events.ts";
import {
	SPAN_EVENTS,
	SPANS,
	type SpanEventName,
	type SpanKindName,
} from "../catalogue/spans.ts";
import {
	type ExceptionAttributes,
	type ExceptionRecordName,
	type Exceptions,
	ON_SPANS,
} from "../exceptions.ts";
import type { Drops, Limits } from "../limits.ts";
import { registeredApi } from "../registration.ts";
import { LateSpan, SdkTracer, type SpanFacts } from "./late-span.ts";

type SpanAttributes = {
	readonly [Name in AttributeName]?: string | number | boolean | undefined;
};

const TARGETS = { ...SPANS, ...SPAN_EVENTS };

/** The attributes of a span, or of an event on one, that an event of core has. */
export function attributesOn(
	target: SpanKindName | SpanEventName,
	event: SnakepitEvent,
): SpanAttributes {
	return attributesOf(event, TARGETS[target].attributes) as SpanAttributes;
}

const KINDS = {
	internal: SpanKind.INTERNAL,
	client: SpanKind.CLIENT,
	server: SpanKind.SERVER,
} as const;

/** The value of `rpc.system.name`: in both languages. */
export const RPC_SYSTEM = "snakepit";

interface SpanStart {
	readonly within: Context;
	/** Replaces the placeholder in braces in the span's name. */
	readonly of?: string;
	/** Attributes that samplers see. */
	readonly attributes?: SpanAttributes;
	/** The others are added only to recorded spans, which costs half as much as starting every span with them. */
	readonly details?: SpanAttributes;
	readonly links?: readonly Link[];
	/** Milliseconds since the Unix epoch; now by default. */
	readonly atMs?: number;
}

const SCOPE_OF_TRACER: Parameters<TracerProvider["getTracer"]> = [
	SCOPE.name,
	SCOPE.version,
	{ schemaUrl: SCOPE.schemaUrl },
];

/** Starts the spans of the catalogue. */
export class Spans {
	readonly limits: Limits;
	readonly drops: Drops;
	readonly #tracer: Tracer;
	readonly #exceptions: Exceptions;
	/** The SDK's own tracer, once there is one: `"foreign"` if it is not as this package knows it. */
	#sdk: SdkTracer | "foreign" | undefined;
	/** `undefined` once an SDK is registered. */
	#registered: TracerProvider | undefined;

	constructor(
		provider: TracerProvider | undefined,
		limits: Limits,
		drops: Drops,
		exceptions: Exceptions = ON_SPANS,
	) {
		this.limits = limits;
		this.drops = drops;
		this.#exceptions = exceptions;
		// The shorter `trace.getTracer` leaves the schema out.
		this.#tracer = (provider ?? trace.getTracerProvider()).getTracer(
			...SCOPE_OF_TRACER,
		);
		this.#registered =
			provider === undefined ? trace.getTracerProvider() : undefined;
		if (provider !== undefined)
			this.#sdk = SdkTracer.of(this.#tracer) ?? "foreign";
	}

	/** No SDK is registered yet, so spans would be dropped. */
	get isSilent(): boolean {
		if (this.#registered === undefined) return false;
		// The API's own provider, until an SDK registers another one.
		const { getDelegateTracer } = this.#registered as ProxyTracerProvider;
		const isProxy = typeof getDelegateTracer === "function";
		const tracer = isProxy
			? getDelegateTracer.call(this.#registered, ...SCOPE_OF_TRACER)
			: this.#tracer;
		if (tracer === undefined) return true;
		this.#sdk = SdkTracer.of(tracer) ?? "foreign";
		this.#registered = undefined;
		return false;
	}

	/**
	 * Starts a span of a call, of which there are many: it costs little until somebody reads it, if the SDK permits that.
	 *
	 * @param name complete.
	 * @param atMs milliseconds since the Unix epoch.
	 */
	begin(
		name: string,
		kind: SpanKind,
		within: Context,
		facts: SpanFacts,
		atMs: number,
		links?: Link[] | undefined,
	): Span {
		const sdk = this.#sdk;
		if (sdk !== undefined && sdk !== "foreign")
			return sdk.start(name, kind, within, facts, atMs, links);
		const options: SpanOptions = {
			...{ kind, attributes: facts.sampled(), startTime: atMs },
			...(links !== undefined && { links }),
		};
		const span = this.#tracer.startSpan(name, options, within);
		if (span.isRecording()) add(span, facts, "begun");
		return span;
	}

	/** Ends a span of {@link begin}. */
	finish(span: Span, facts: SpanFacts, atMs: number): void {
		if (!(span instanceof LateSpan) && span.isRecording())
			add(span, facts, "ended");
		span.end(atMs);
	}

	start(name: SpanKindName, how: SpanStart): Span {
		const { of, attributes, details, links, atMs } = how;
		// This runs twice in every call, so it does not create objects only to spread them.
		const options: SpanOptions = { kind: KINDS[SPANS[name].kind] };
		if (attributes !== undefined) options.attributes = attributes as Attributes;
		if (links !== undefined && links.length > 0) options.links = [...links];
		if (atMs !== undefined) options.startTime = atMs;
		const span = this.#tracer.startSpan(
			of === undefined ? name : `${name} ${of}`,
			options,
			how.within,
		);
		if (details !== undefined && span.isRecording())
			for (const key in details) {
				const value = details[key as AttributeName];
				if (value !== undefined) span.setAttribute(key, value);
			}
		return span;
	}

	event(
		span: Span,
		name: SpanEventName,
		attributes: SpanAttributes,
		atMs?: number,
	): void {
		span.addEvent(name, attributes as Attributes, atMs);
	}

	/** Records an exception once for each signal that the user chose. @param as its log record, if it has one of its own. */
	exception(
		span: Span,
		attributes: ExceptionAttributes,
		as: ExceptionRecordName | undefined,
	): void {
		const { signals } = this.#exceptions;
		if (signals.spanEvents) this.event(span, "exception", attributes);
		if (signals.logs && as !== undefined)
			this.#exceptions.log(span.spanContext(), as, attributes);
	}
}

function add(span: Span, facts: SpanFacts, of: "begun" | "ended"): void {
	const attributes: Attributes = {};
	facts[of](attributes);
	for (const key in attributes)
		span.setAttribute(key, attributes[key] as AttributeValue);
}

export function failed(span: Span, type: string, message: string): void {
	span.setAttribute("error.type", type);
	span.setStatus({ code: SpanStatusCode.ERROR, message });
}

export function linkTo(context: SpanContext, target: string): Link {
	return { context, attributes: { "snakepit.link": target } };
}

/**
 * Records an error on a span: the stable code as `error.type`, and the worker's own type and traceback.
 *
 * @param as the log record of its exception, if the user chose log records.
 */
export function recordError(
	spans: Spans,
	span: Span,
	error: unknown,
	as?: ExceptionRecordName,
): void {
	if (!span.isRecording()) return;
	const { limits } = spans;
	failed(span, limits.name(codeOf(error)), limits.text(messageOf(error)));
	spans.exception(span, limits.exception(thrownOf(error)), as);
}

/** The same without an exception event, which is on the span where the error happened. */
export function noteError(spans: Spans, span: Span, error: Error): void {
	failed(span, codeOf(error), spans.limits.text(error.message));
}

/** What a worker reads. */
export type Headers = Readonly<Record<string, string>>;

const W3C = ["traceparent", "tracestate", "baggage"];

/**
 * Returns the W3C headers of a context. This code writes them if the registered propagator would write only
 * `traceparent`: the propagator takes several times as long.
 */
export function headersOf(within: Context): Headers {
	if (writesW3c() && propagation.getBaggage(within) === undefined) {
		const span = trace.getSpan(within);
		const current = span?.spanContext();
		if (current !== undefined && current.traceState === undefined) {
			if (span instanceof LateSpan) return { traceparent: span.traceparent };
			if (isSpanContextValid(current))
				return {
					traceparent: `00-${current.traceId}-${current.spanId}-0${current.traceFlags & TraceFlags.SAMPLED}`,
				};
		}
	}
	const headers = {};
	propagation.inject(within, headers);
	return headers;
}

/** Whether the registered propagator writes a `traceparent`, and only W3C headers. */
export function writesW3c(): boolean {
	const { api } = registry;
	const propagator = api?.propagation;
	// The same one answers the same each time, and asking takes longer than the rest of the headers.
	if (propagator !== undefined && propagator === registry.propagator)
		return registry.writesW3c;
	const fields = propagation.fields();
	registry.api ??= registeredApi();
	registry.propagator = registry.api?.propagation;
	registry.writesW3c =
		fields.includes("traceparent") &&
		fields.every((field) => W3C.includes(field));
	return registry.writesW3c;
}

/** What is registered with the API, and what was found out of its propagator. */
const registry: {
	api: ReturnType<typeof registeredApi>;
	propagator: unknown;
	writesW3c: boolean;
} = { api: undefined, propagator: undefined, writesW3c: false };

/** The W3C context of a program that is started there, as variables. */
export function variablesOf(within: Context): Record<string, string> {
	const headers: Record<string, string> = {};
	propagation.inject(within, headers);
	return Object.fromEntries(
		Object.entries(headers).map(([name, value]) => [
			name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_"),
			value,
		]),
	);
}
