import {
	type Attributes,
	type Context,
	ROOT_CONTEXT,
	type Span,
	SpanKind,
	SpanStatusCode,
	type Tracer,
	type TracerProvider,
	trace,
} from "@opentelemetry/api";
import { suppressTracing } from "@opentelemetry/core";
import {
	AlwaysOnSampler,
	InMemorySpanExporter,
	ParentBasedSampler,
	type ReadableSpan,
	type Sampler,
	SamplingDecision,
	TracerProvider as SdkTracerProvider,
	SimpleSpanProcessor,
	type SpanProcessor,
} from "@opentelemetry/sdk-trace";
import { expect, test } from "vitest";
import { Drops, Limits } from "../../src/limits.ts";
import {
	LateSpan,
	SdkTracer,
	type SpanFacts,
} from "../../src/trace/late-span.ts";
import { Spans } from "../../src/trace/spans.ts";

const START_MS = 1_700_000_000_123.25;
const AT = 1_700_000_000_130;
const PARENT = {
	traceId: "0af7651916cd43dd8448eb211c80319c",
	spanId: "b7ad6b7169203331",
	traceFlags: 1,
	isRemote: true,
};

class Facts implements SpanFacts {
	outcome = "none";

	sampled(): Attributes {
		return { "of.sampler": 1 };
	}

	begun(to: Attributes): void {
		to["of.start"] = "start";
	}

	ended(to: Attributes): void {
		to["of.end"] = this.outcome;
	}
}

/** What the SDK is made of in a case, and what is done with a span. */
interface Case {
	readonly sampler?: Sampler;
	readonly processor?: Partial<SpanProcessor>;
	readonly within?: Context;
	readonly act?: (span: Span) => void;
	readonly endMs?: number;
}

/** Ids that are the same each time. */
function ids() {
	let number = 0;
	const next = (length: number): string =>
		(++number).toString(16).padStart(length, "0");
	return { generateTraceId: () => next(32), generateSpanId: () => next(16) };
}

/** The same provider, whose tracers somebody has wrapped: so their spans are the SDK's own. */
function wrapped(provider: TracerProvider): TracerProvider {
	return {
		getTracer: (...of) => {
			const tracer = provider.getTracer(...of);
			return {
				startSpan: (...how) => tracer.startSpan(...how),
				startActiveSpan: (() => {}) as unknown as Tracer["startActiveSpan"],
			};
		},
	};
}

/** Everything of a span that processors and exporters read. */
function seenOf(span: ReadableSpan): object {
	const { attributes, links, events, status, resource } = span;
	return {
		...{ name: span.name, kind: span.kind, context: span.spanContext() },
		...{ parent: span.parentSpanContext, ended: span.ended },
		...{ start: span.startTime, end: span.endTime, duration: span.duration },
		...{ attributes: { ...attributes }, links: [...links], status },
		events: [...events],
		...{ resource, scope: span.instrumentationScope },
		dropped: [
			span.droppedAttributesCount,
			span.droppedEventsCount,
			span.droppedLinksCount,
		],
	};
}

async function exported(
	{ sampler, processor, within = ROOT_CONTEXT, act, endMs }: Case,
	manner: "late" | "the SDK's own",
): Promise<{ readonly seen: readonly object[]; readonly said: unknown[] }> {
	const exporter = new InMemorySpanExporter();
	const said: unknown[] = [];
	const own: SpanProcessor = {
		onStart: (span, parent) => {
			said.push(["start", span.isRecording(), span.ended, span.duration]);
			processor?.onStart?.(span, parent);
		},
		onEnding: (span) => processor?.onEnding?.(span),
		onEnd: (span) => processor?.onEnd?.(span),
		forceFlush: async () => {},
		shutdown: async () => {},
	};
	const provider = new SdkTracerProvider({
		sampler: sampler ?? new ParentBasedSampler({ root: new AlwaysOnSampler() }),
		idGenerator: ids(),
		spanProcessors: [own, new SimpleSpanProcessor({ exporter })],
	});
	const drops = new Drops();
	const spans = new Spans(
		manner === "late" ? provider : wrapped(provider),
		new Limits(drops),
		drops,
	);
	const facts = new Facts();
	const span = spans.begin("call x", SpanKind.CLIENT, within, facts, START_MS, [
		{ context: PARENT, attributes: { "snakepit.link": "caller" } },
	]);
	if (span.isRecording())
		expect(span instanceof LateSpan).toBe(manner === "late");
	said.push(span.spanContext(), span.isRecording());
	act?.(span);
	facts.outcome = "succeeded";
	spans.finish(span, facts, endMs ?? START_MS + 12.5);
	said.push(span.isRecording());
	await provider.forceFlush();
	// Reading it again finds the same.
	for (const each of exporter.getFinishedSpans()) seenOf(each);
	return { seen: exporter.getFinishedSpans().map(seenOf), said };
}

/** Of others, who see only that it is a span. */
const foreign = (span: unknown): Record<string, unknown> & Span =>
	span as Record<string, unknown> & Span;

const CASES: Readonly<Record<string, Case>> = {
	"a span that nobody touches": {},
	"a child of a remote span": {
		within: trace.setSpanContext(ROOT_CONTEXT, PARENT),
	},
	"a child of a span that is not sampled": {
		within: trace.setSpanContext(ROOT_CONTEXT, { ...PARENT, traceFlags: 0 }),
	},
	"a child of an invalid span": {
		within: trace.setSpanContext(ROOT_CONTEXT, { ...PARENT, traceId: "x" }),
	},
	"tracing that is suppressed": { within: suppressTracing(ROOT_CONTEXT) },
	"attributes, status, name, links and events that somebody sets": {
		act: (span) => {
			span
				.setAttribute("tenant", "acme")
				.setAttribute("of.start", "changed")
				.setAttribute("no attribute", Symbol("x") as never)
				.setAttributes({ many: ["a", "b"] })
				.addEvent("seen", { where: "here" }, AT)
				.addLink({ context: PARENT })
				.addLinks([{ context: PARENT, attributes: { n: 1 } }])
				.setStatus({ code: SpanStatusCode.ERROR, message: "it failed" })
				.updateName("another");
			span.recordException({ name: "RangeError", message: "no" }, AT);
		},
	},
	"more attributes and events than an SDK keeps": {
		act: (span) => {
			for (let index = 0; index < 200; index++)
				span.setAttribute(`a${index}`, index).addEvent(`e${index}`, {}, AT);
		},
	},
	"a processor that reads and writes at the start": {
		processor: {
			onStart: (span) => {
				const { attributes } = span as unknown as ReadableSpan;
				span.setAttribute("copied", String(attributes["of.sampler"]));
			},
		},
	},
	"a processor that writes just before the end": {
		processor: {
			onEnding: (span) => {
				const { attributes } = span as unknown as ReadableSpan;
				span.setAttribute("known", attributes["of.end"] as string);
			},
		},
	},
	"a processor that changes what has ended": {
		processor: {
			onEnd: (span) => {
				const changed = foreign(span);
				(changed["attributes"] as Attributes)["of.start"] = "(redacted)";
				changed["name"] = "renamed";
			},
		},
	},
	"a processor that replaces the attributes": {
		processor: {
			onEnd: (span) => {
				foreign(span)["attributes"] = { only: "this" };
			},
		},
	},
	"a sampler that adds attributes and a trace state": {
		sampler: {
			shouldSample: (_, __, name, kind, attributes) => ({
				decision: SamplingDecision.RECORD_AND_SAMPLED,
				attributes: { saw: `${name} ${kind} ${JSON.stringify(attributes)}` },
			}),
			toString: () => "adds",
		},
	},
	"a sampler that records only": {
		sampler: {
			shouldSample: () => ({ decision: SamplingDecision.RECORD }),
			toString: () => "records",
		},
	},
	"a sampler that takes everything": { sampler: new AlwaysOnSampler() },
	"a sampler that leaves it out": {
		sampler: {
			shouldSample: () => ({ decision: SamplingDecision.NOT_RECORD }),
			toString: () => "none",
		},
	},
	"an end before its start": { endMs: START_MS - 5 },
	"an end that is not in whole milliseconds": { endMs: START_MS + 0.0005 },
};

test.each(Object.entries(CASES))(
	"of %s, processors and exporters see what they see of the SDK's own span",
	async (_, each) => {
		const late = await exported(each, "late");
		expect(late).toEqual(await exported(each, "the SDK's own"));
	},
);

test.each([
	["an attribute's length is limited", { attributeValueLengthLimit: 100 }],
	["few attributes are kept", { attributeCountLimit: 5 }],
])("where %s, the SDK makes the span itself", (_, spanLimits) => {
	const provider = new SdkTracerProvider({ spanLimits });
	expect(SdkTracer.of(provider.getTracer("x"))).toBeUndefined();
});

test("a tracer that somebody wraps makes the span itself", () => {
	const tracer = new SdkTracerProvider().getTracer("x");
	expect(SdkTracer.of(tracer)).toBeDefined();
	const { startSpan } = tracer;
	tracer.startSpan = (...how) => startSpan.apply(tracer, how);
	expect(SdkTracer.of(tracer)).toBeUndefined();
});

test("a span that others have ended is exported once, with the end that they gave it", async () => {
	const act = (span: Span): void => span.end(START_MS + 1);
	const { seen } = await exported({ act }, "late");
	expect(seen).toMatchObject([{ duration: [0, 1_000_000] }]);
});

test("spans that begin traces have headers with their own ids, which no other span has", () => {
	const drops = new Drops();
	const spans = new Spans(new SdkTracerProvider(), new Limits(drops), drops);
	const ids = Array.from({ length: 1_000 }, () => {
		const span = spans.begin(
			"call x",
			SpanKind.CLIENT,
			ROOT_CONTEXT,
			new Facts(),
			START_MS,
		) as LateSpan;
		const { traceId, spanId } = span.spanContext();
		expect(`${traceId} ${spanId}`).toMatch(/^[0-9a-f]{32} [0-9a-f]{16}$/);
		expect(span.traceparent).toBe(`00-${traceId}-${spanId}-01`);
		return [traceId, spanId];
	});
	expect(new Set(ids.flat()).size).toBe(2_000);
});
