import {
	type Attributes,
	type Context,
	type Link,
	type ProxyTracerProvider,
	type Span,
	type SpanContext,
	SpanKind,
	type SpanOptions,
	SpanStatusCode,
	type Tracer,
	type TracerProvider,
	trace,
} from "@opentelemetry/api";
import type { AttributeName } from "../catalogue/attributes.ts";
import type { SpanEventName, SpanKindName } from "../catalogue/spans.ts";
import { SPANS } from "../catalogue/spans.ts";
import type { Drops } from "../drops.ts";
import type { Limits } from "../limits.ts";
import { SCOPE } from "../scope.ts";

export type SpanAttributes = {
	readonly [Name in AttributeName]?: string | number | boolean | undefined;
};

const KINDS = {
	internal: SpanKind.INTERNAL,
	client: SpanKind.CLIENT,
	server: SpanKind.SERVER,
} as const;

export interface SpanStart {
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

/** Starts the spans of the catalogue. */
export class Spans {
	readonly limits: Limits;
	readonly drops: Drops;
	readonly #tracer: Tracer;
	/** `undefined` once an SDK is registered. */
	#registered: TracerProvider | undefined;

	constructor(
		provider: TracerProvider | undefined,
		limits: Limits,
		drops: Drops,
	) {
		this.limits = limits;
		this.drops = drops;
		this.#tracer = (provider ?? trace).getTracer(SCOPE);
		this.#registered =
			provider === undefined ? trace.getTracerProvider() : undefined;
	}

	/** No SDK is registered yet, so spans would be dropped. */
	get isSilent(): boolean {
		if (this.#registered === undefined) return false;
		// The API's own provider, until an SDK registers another one.
		const { getDelegateTracer } = this.#registered as ProxyTracerProvider;
		const isSilent =
			typeof getDelegateTracer === "function" &&
			getDelegateTracer.call(this.#registered, SCOPE) === undefined;
		if (!isSilent) this.#registered = undefined;
		return isSilent;
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
}

/** The context in which a span is the current one. */
export function within(span: Span, parent: Context): Context {
	return trace.setSpan(parent, span);
}

export function failed(span: Span, type: string, message: string): void {
	span.setAttribute("error.type", type);
	span.setStatus({ code: SpanStatusCode.ERROR, message });
}

export function linkTo(context: SpanContext, what: string): Link {
	return { context, attributes: { "snakepit.link": what } };
}
