import {
	type Attributes,
	type AttributeValue,
	type Context,
	createContextKey,
	createNoopMeter,
	diag,
	type Exception,
	type HrTime,
	INVALID_SPAN_CONTEXT,
	isSpanContextValid,
	type Link,
	ROOT_CONTEXT,
	type Span,
	type SpanContext,
	type SpanKind,
	type SpanStatus,
	type TimeInput,
	TraceFlags,
	type Tracer,
	trace,
} from "@opentelemetry/api";
import {
	newSpanId,
	newTraceId,
	newTraceparent,
	spanIdIn,
	traceIdIn,
} from "./ids.ts";

/** What a span says of its subject: kept as plain fields, and made attributes when somebody reads them. */
export interface SpanFacts {
	/** Those that samplers see. A new object each time: a sampler may change it. */
	sampled(): Attributes;
	/** Adds the others that are known at the start. */
	begun(to: Attributes): void;
	/** Adds those that are known at the end. Called after it. */
	ended(to: Attributes): void;
}

/** The key that `suppressTracing` of `@opentelemetry/core` sets. */
export const SUPPRESS_TRACING: symbol = createContextKey(
	"OpenTelemetry SDK Context Key SUPPRESS_TRACING",
);

/** The values of the SDK's `SamplingDecision`. */
const NOT_RECORD = 0;
const RECORD_AND_SAMPLED = 2;

interface SamplingResult {
	readonly decision: 0 | 1 | 2;
	readonly attributes?: Attributes | undefined;
	readonly traceState?: SpanContext["traceState"];
}

/** The span of the SDK, as a processor and an exporter see it. */
interface SdkSpan extends Span {
	name: string;
	readonly kind: SpanKind;
	attributes: Attributes;
	status: SpanStatus;
	links: Link[];
	events: unknown[];
	startTime: HrTime;
	endTime: HrTime;
	readonly duration: HrTime;
	readonly resource: unknown;
	readonly instrumentationScope: unknown;
	readonly droppedAttributesCount: number;
	readonly droppedEventsCount: number;
	readonly droppedLinksCount: number;
}

interface SdkProcessor {
	onStart(span: Span, within: Context): void;
	onEnding?(span: Span): void;
	onEnd(span: Span): void;
}

type EndMetrics = (() => void) | undefined;

/** The parts of the tracer of OpenTelemetry's SDK 2 and 3 that its own `startSpan` works with. */
interface SdkParts extends Tracer {
	readonly instrumentationScope: unknown;
	readonly _resource: unknown;
	readonly _sampler: {
		shouldSample(
			within: Context,
			traceId: string,
			name: string,
			kind: SpanKind,
			attributes: Attributes,
			links: Link[],
		): SamplingResult;
	};
	readonly _idGenerator: {
		generateTraceId(): string;
		generateSpanId(): string;
	};
	readonly _spanLimits: {
		readonly attributeCountLimit: number;
		readonly attributeValueLengthLimit: number;
		readonly linkCountLimit: number;
	};
	readonly _spanProcessor: SdkProcessor;
	readonly _tracerMetrics: {
		readonly startedSpans?: unknown;
		startSpan(parent: SpanContext | undefined, decision: number): EndMetrics;
	};
}

/** The spans of this package have fewer of each. */
const FEWEST_ATTRIBUTES = 32;
const FEWEST_LINKS = 8;

const SILENT: SdkProcessor = { onStart: () => {}, onEnd: () => {} };

/**
 * The tracer of the program's SDK. Starts spans as that does, with its sampler, its ids and its processors, but makes
 * their attributes, times and lists when somebody reads them: mostly an exporter, or nobody, if a processor drops them. A
 * call with two spans then costs less than half.
 */
export class SdkTracer {
	readonly #tracer: SdkParts;
	readonly #random: boolean;
	readonly #countsSpans: boolean;
	readonly #takes: TakenSpans;

	private constructor(tracer: SdkParts) {
		this.#tracer = tracer;
		this.#random =
			tracer._idGenerator.constructor?.name === "RandomIdGenerator";
		this.#takes = takenBy(tracer._sampler);
		const noop: unknown = createNoopMeter().createCounter("");
		this.#countsSpans = tracer._tracerMetrics.startedSpans !== noop;
	}

	/** `undefined` for the tracer of another SDK, of another version, one that somebody has wrapped, or one with narrow limits. */
	static of(tracer: Tracer): SdkTracer | undefined {
		try {
			const parts = tracer as SdkParts;
			return isOwn(parts) && isWide(parts) && behaves(parts)
				? new SdkTracer(parts)
				: undefined;
		} catch {
			return undefined;
		}
	}

	get scope(): unknown {
		return this.#tracer.instrumentationScope;
	}

	get resource(): unknown {
		return this.#tracer._resource;
	}

	get processor(): SdkProcessor {
		return this.#tracer._spanProcessor;
	}

	/** @param startMs milliseconds since the Unix epoch. */
	start(
		name: string,
		kind: SpanKind,
		within: Context,
		facts: SpanFacts,
		startMs: number,
		links: Link[] | undefined,
	): Span {
		const tracer = this.#tracer;
		if (within.getValue(SUPPRESS_TRACING) === true)
			return trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
		const around = trace.getSpan(within);
		const found = around?.spanContext();
		const parent =
			found === undefined || around instanceof LateSpan
				? found
				: isSpanContextValid(found)
					? found
					: undefined;
		const isTaken =
			parent === undefined
				? this.#takes.roots
				: this.#takes.children &&
					around instanceof LateSpan &&
					parent.traceFlags === TraceFlags.SAMPLED;
		const { _idGenerator: ids } = tracer;
		const traceparent =
			isTaken && parent === undefined && this.#random
				? newTraceparent()
				: undefined;
		let spanId: string;
		let traceId: string;
		if (traceparent !== undefined) {
			spanId = spanIdIn(traceparent);
			traceId = traceIdIn(traceparent);
		} else {
			spanId = this.#random ? newSpanId() : ids.generateSpanId();
			traceId =
				parent?.traceId ??
				(this.#random ? newTraceId() : ids.generateTraceId());
		}
		const attributes = isTaken ? undefined : facts.sampled();
		const result =
			attributes === undefined
				? TAKEN
				: tracer._sampler.shouldSample(
						within,
						traceId,
						name,
						kind,
						attributes,
						links ?? [],
					);
		const { decision } = result;
		const counted = this.#countsSpans
			? tracer._tracerMetrics.startSpan(found, decision)
			: undefined;
		const context: SpanContext = {
			traceId,
			spanId,
			traceFlags:
				decision === RECORD_AND_SAMPLED ? TraceFlags.SAMPLED : TraceFlags.NONE,
		};
		const traceState = result.traceState ?? parent?.traceState;
		if (traceState !== undefined) context.traceState = traceState;
		if (decision === NOT_RECORD) return trace.wrapSpanContext(context);
		const span = new LateSpan(
			this,
			name,
			kind,
			context,
			traceparent,
			parent,
			facts,
			attributes,
			startMs,
			links,
			counted,
		);
		for (const key in result.attributes)
			span.setAttribute(key, result.attributes[key] as AttributeValue);
		tracer._spanProcessor.onStart(span, within);
		return span;
	}

	/** The SDK's own span with the same ids and start, which no processor sees. */
	own(
		name: string,
		kind: SpanKind,
		context: SpanContext,
		parent: SpanContext | undefined,
		attributes: Attributes,
		startMs: number,
		links: Link[] | undefined,
	): SdkSpan {
		return ownSpan(this.#tracer, SILENT, context, parent, name, {
			...{ kind, attributes, startTime: startMs },
			...(links !== undefined && { links }),
		});
	}
}

const TAKEN: SamplingResult = { decision: RECORD_AND_SAMPLED };

/** What a sampler takes whatever it is, and says no more of. */
interface TakenSpans {
	/** Those that begin a trace. */
	readonly roots: boolean;
	/** Children of spans that were sampled here. */
	readonly children: boolean;
}

/** Known of the SDK's own samplers, of which one is the default: to ask them takes longer than the rest of a span. */
function takenBy(sampler: SdkParts["_sampler"]): TakenSpans {
	const { _root, _localParentSampled } = sampler as {
		readonly _root?: object;
		readonly _localParentSampled?: object;
	};
	const isParentBased = sampler.constructor.name === "ParentBasedSampler";
	const takesAll = (each: object | undefined): boolean =>
		each?.constructor.name === "AlwaysOnSampler";
	return {
		roots: takesAll(isParentBased ? _root : sampler),
		children: takesAll(isParentBased ? _localParentSampled : sampler),
	};
}

/** Has the SDK's `startSpan` start a span with these ids. */
function ownSpan(
	tracer: SdkParts,
	processor: SdkProcessor,
	context: SpanContext,
	parent: SpanContext | undefined,
	...[name, options]: Parameters<Tracer["startSpan"]>
): SdkSpan {
	const { traceId, spanId, traceFlags, traceState } = context;
	const decision = traceFlags & TraceFlags.SAMPLED ? RECORD_AND_SAMPLED : 1;
	const as = Object.assign(
		Object.create(Object.getPrototypeOf(tracer)) as object,
		tracer,
		{
			_idGenerator: {
				generateTraceId: () => traceId,
				generateSpanId: () => spanId,
			},
			_sampler: { shouldSample: () => ({ decision, traceState }) },
			_spanProcessor: processor,
			_tracerMetrics: { startSpan: () => undefined },
		},
	);
	const within =
		parent === undefined
			? ROOT_CONTEXT
			: trace.setSpanContext(ROOT_CONTEXT, parent);
	return tracer.startSpan.call(as, name, options, within) as SdkSpan;
}

/** Whether `startSpan` is that of the SDK, and not one that wraps it. */
function isOwn(tracer: SdkParts): boolean {
	const source = Function.prototype.toString.call(tracer.startSpan);
	return ["_sampler", "_idGenerator", "_spanProcessor", "_tracerMetrics"].every(
		(part) => source.includes(part),
	);
}

function isWide({ _spanLimits: limits }: SdkParts): boolean {
	return (
		limits.attributeValueLengthLimit === Number.POSITIVE_INFINITY &&
		limits.attributeCountLimit >= FEWEST_ATTRIBUTES &&
		limits.linkCountLimit >= FEWEST_LINKS
	);
}

/** Whether it does with these parts what is expected: tried with a span that nobody sees. */
function behaves(tracer: SdkParts): boolean {
	const traceId = newTraceId();
	const context = { traceId, spanId: newSpanId(), traceFlags: 1 };
	const parent = { traceId, spanId: newSpanId(), traceFlags: 1 };
	const seen: unknown[] = [];
	const processor: SdkProcessor = {
		onStart: (span) => seen.push(span),
		onEnd: (span) => seen.push(span),
	};
	const startTime = 1_700_000_000_123.5;
	const span = ownSpan(tracer, processor, context, parent, "tried", {
		...{ kind: 1, startTime, attributes: { first: 1 } },
		links: [{ context: parent }],
	});
	span.setAttribute("second", "two");
	span.end(startTime + 1.5);
	const made = span.spanContext();
	const { parentSpanContext } = span as { parentSpanContext?: SpanContext };
	return (
		seen.length === 2 &&
		seen.every((each) => each === span) &&
		made.traceId === traceId &&
		made.spanId === context.spanId &&
		parentSpanContext?.spanId === parent.spanId &&
		span.attributes["first"] === 1 &&
		span.attributes["second"] === "two" &&
		span.links.length === 1 &&
		String(span.startTime) === String(hrTime(startTime)) &&
		String(span.endTime) === String(hrTime(startTime + 1.5)) &&
		span.resource === tracer._resource &&
		span.instrumentationScope === tracer.instrumentationScope
	);
}

/**
 * A span of the SDK that keeps plain fields until somebody reads more, and becomes one of the SDK's own when anybody but
 * this package changes it. Samplers, processors and exporters see no difference.
 */
export class LateSpan implements SdkSpan {
	readonly kind: SpanKind;
	readonly parentSpanContext: SpanContext | undefined;
	readonly #tracer: SdkTracer;
	readonly #name: string;
	readonly #context: SpanContext;
	#traceparent: string | undefined;
	readonly #startMs: number;
	readonly #counted: EndMetrics;
	/** `undefined` when its attributes are made. */
	#facts: SpanFacts | undefined;
	/** Those that its sampler saw, or all of them when they are made. */
	#attributes: Attributes | undefined;
	readonly #given: Link[] | undefined;
	#links: Link[] | undefined;
	#endMs = 0;
	#phase: "open" | "ending" | "ended" = "open";
	/** Has what others have set; from then on it stands for this one. */
	#own: SdkSpan | undefined;
	#status: SpanStatus | undefined;
	#events: unknown[] | undefined;

	constructor(
		tracer: SdkTracer,
		name: string,
		kind: SpanKind,
		context: SpanContext,
		traceparent: string | undefined,
		parent: SpanContext | undefined,
		facts: SpanFacts,
		attributes: Attributes | undefined,
		startMs: number,
		links: Link[] | undefined,
		counted: EndMetrics,
	) {
		this.#tracer = tracer;
		this.#name = name;
		this.kind = kind;
		this.#context = context;
		this.#traceparent = traceparent;
		this.parentSpanContext = parent;
		this.#facts = facts;
		this.#attributes = attributes;
		this.#startMs = startMs;
		this.#given = links;
		this.#counted = counted;
	}

	spanContext(): SpanContext {
		return this.#context;
	}

	/** The W3C header of its context, without its trace state. */
	get traceparent(): string {
		const { traceId, spanId, traceFlags } = this.#context;
		this.#traceparent ??= `00-${traceId}-${spanId}-0${traceFlags}`;
		return this.#traceparent;
	}

	isRecording(): boolean {
		return this.#phase !== "ended";
	}

	setAttribute(key: string, value: AttributeValue): this {
		if (this.#isOpen()) this.#made().setAttribute(key, value);
		return this;
	}

	setAttributes(attributes: Attributes): this {
		if (this.#isOpen()) this.#made().setAttributes(attributes);
		return this;
	}

	addEvent(...event: Parameters<Span["addEvent"]>): this {
		if (this.#isOpen()) this.#made().addEvent(...event);
		return this;
	}

	addLink(link: Link): this {
		if (this.#isOpen()) this.#made().addLink(link);
		return this;
	}

	addLinks(links: Link[]): this {
		if (this.#isOpen()) this.#made().addLinks(links);
		return this;
	}

	setStatus(status: SpanStatus): this {
		if (this.#isOpen()) this.#made().setStatus(status);
		return this;
	}

	updateName(name: string): this {
		if (this.#isOpen()) this.#made().updateName(name);
		return this;
	}

	recordException(exception: Exception, time?: TimeInput): void {
		if (this.#isOpen()) this.#made().recordException(exception, time);
	}

	end(endTime: TimeInput = Date.now()): void {
		if (this.#phase !== "open") {
			diag.error(`You can only call end() on a span once: ${this.name}`);
			return;
		}
		const { processor } = this.#tracer;
		this.#phase = "ending";
		this.#own?.setAttributes(this.#read("ended"));
		processor.onEnding?.(this);
		if (typeof endTime === "number") this.#endMs = endTime;
		else this.#endMs = millisecondsOf(endTime);
		this.#own?.end(endTime);
		this.#phase = "ended";
		this.#counted?.();
		processor.onEnd(this);
	}

	get name(): string {
		return this.#own?.name ?? this.#name;
	}

	set name(name: string) {
		this.#made().name = name;
	}

	get attributes(): Attributes {
		if (this.#own !== undefined || this.#phase !== "ended")
			return this.#made().attributes;
		const facts = this.#facts;
		this.#attributes ??= facts?.sampled() ?? {};
		if (facts !== undefined) {
			this.#facts = undefined;
			facts.begun(this.#attributes);
			facts.ended(this.#attributes);
		}
		return this.#attributes;
	}

	set attributes(attributes: Attributes) {
		this.#made().attributes = attributes;
	}

	get status(): SpanStatus {
		if (this.#own !== undefined) return this.#own.status;
		this.#status ??= { code: 0 };
		return this.#status;
	}

	set status(status: SpanStatus) {
		this.#made().status = status;
	}

	get links(): Link[] {
		// The SDK completes those that it is given.
		if (this.#own !== undefined || this.#given !== undefined)
			return this.#made().links;
		this.#links ??= [];
		return this.#links;
	}

	set links(links: Link[]) {
		this.#made().links = links;
	}

	get events(): unknown[] {
		if (this.#own !== undefined) return this.#own.events;
		this.#events ??= [];
		return this.#events;
	}

	set events(events: unknown[]) {
		this.#made().events = events;
	}

	get startTime(): HrTime {
		return this.#own?.startTime ?? hrTime(this.#startMs);
	}

	set startTime(time: HrTime) {
		this.#made().startTime = time;
	}

	get endTime(): HrTime {
		if (this.#own !== undefined) return this.#own.endTime;
		if (this.#phase !== "ended") return [0, 0];
		return hrTime(Math.max(this.#startMs, this.#endMs));
	}

	set endTime(time: HrTime) {
		this.#made().endTime = time;
	}

	get duration(): HrTime {
		if (this.#own !== undefined) return this.#own.duration;
		if (this.#phase !== "ended") return [-1, -1];
		const [seconds, nanoseconds] = this.endTime;
		const [startSeconds, startNanoseconds] = this.startTime;
		const between = nanoseconds - startNanoseconds;
		return between < 0
			? [seconds - startSeconds - 1, between + 1e9]
			: [seconds - startSeconds, between];
	}

	get ended(): boolean {
		return this.#phase === "ended";
	}

	get resource(): unknown {
		return this.#tracer.resource;
	}

	get instrumentationScope(): unknown {
		return this.#tracer.scope;
	}

	get droppedAttributesCount(): number {
		return this.#own?.droppedAttributesCount ?? 0;
	}

	get droppedEventsCount(): number {
		return this.#own?.droppedEventsCount ?? 0;
	}

	get droppedLinksCount(): number {
		return this.#own?.droppedLinksCount ?? 0;
	}

	#isOpen(): boolean {
		if (this.#phase === "ended")
			diag.warn(`Cannot execute the operation on ended Span ${this.name}`);
		return this.#phase !== "ended";
	}

	/** The SDK's own span, with everything that is known by now. */
	#made(): SdkSpan {
		if (this.#own !== undefined) return this.#own;
		const own = this.#tracer.own(
			...([this.#name, this.kind, this.#context] as const),
			this.parentSpanContext,
			this.#attributes ?? this.#facts?.sampled() ?? {},
			...([this.#startMs, this.#given] as const),
		);
		own.setAttributes(this.#read("begun"));
		if (this.#phase !== "open") own.setAttributes(this.#read("ended"));
		if (this.#phase === "ended") own.end(this.#endMs);
		this.#own = own;
		return own;
	}

	#read(of: "begun" | "ended"): Attributes {
		const attributes: Attributes = {};
		this.#facts?.[of](attributes);
		return attributes;
	}
}

/** A time in OpenTelemetry's form: seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
	const seconds = Math.trunc(ms / 1_000);
	const nanoseconds = Math.round((ms % 1_000) * 1_000_000);
	return nanoseconds === 1e9 ? [seconds + 1, 0] : [seconds, nanoseconds];
}

function millisecondsOf(time: Exclude<TimeInput, number>): number {
	return time instanceof Date
		? time.getTime()
		: time[0] * 1_000 + time[1] / 1_000_000;
}
