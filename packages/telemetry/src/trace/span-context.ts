import { type Context, type Span, trace } from "@opentelemetry/api";

/**
 * The key of the current span: the API tells it to nobody, but to a context in which it sets one. `undefined` with an API
 * that does it in another way.
 */
const SPAN: symbol | undefined = keyOfSpan();

function keyOfSpan(): symbol | undefined {
	let found: symbol | undefined;
	const asked: Context = {
		getValue: () => undefined,
		setValue: (key) => {
			found = key;
			return asked;
		},
		deleteValue: () => asked,
	};
	trace.setSpanContext(asked, { traceId: "", spanId: "", traceFlags: 0 });
	return found;
}

/**
 * The context in which a span is the current one. The API's own is a map and three functions of its own, of which each
 * call would have two; others that are made of this one are the API's.
 */
class SpanContextOf implements Context {
	readonly #parent: Context;
	readonly #span: Span;

	constructor(parent: Context, span: Span) {
		// What a parent says of its span does not count here.
		this.#parent = parent instanceof SpanContextOf ? parent.#parent : parent;
		this.#span = span;
	}

	getValue(key: symbol): unknown {
		return key === SPAN ? this.#span : this.#parent.getValue(key);
	}

	setValue(key: symbol, value: unknown): Context {
		return trace.setSpan(this.#parent, this.#span).setValue(key, value);
	}

	deleteValue(key: symbol): Context {
		return trace.setSpan(this.#parent, this.#span).deleteValue(key);
	}
}

/** The context in which a span is the current one. */
export function within(span: Span, parent: Context): Context {
	return SPAN === undefined
		? trace.setSpan(parent, span)
		: new SpanContextOf(parent, span);
}
