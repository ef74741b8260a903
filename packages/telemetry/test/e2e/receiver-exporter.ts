import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { ReceivedSpan } from "./receiver.ts";

/** Sends spans to a receiver; reports a failure as exporters do. */
export class ReceiverExporter implements SpanExporter {
	readonly #url: string;

	constructor(url: string) {
		this.#url = `${url}/v1/traces`;
	}

	export(
		spans: ReadableSpan[],
		done: (result: { code: number; error?: Error }) => void,
	): void {
		const sent = spans.map(
			(span): ReceivedSpan => ({
				signal: "span",
				resource: span.resource.attributes,
				traceId: span.spanContext().traceId,
				spanId: span.spanContext().spanId,
				parentSpanId: span.parentSpanContext?.spanId ?? "",
				name: span.name,
				scope: span.instrumentationScope.name,
				attributes: span.attributes,
				events: span.events.map(({ name }) => name),
				links: span.links.map(({ context, attributes = {} }) => ({
					spanId: context.spanId,
					attributes,
				})),
			}),
		);
		fetch(this.#url, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify(sent),
		}).then(
			() => done({ code: 0 }),
			(error) => done({ code: 1, error }),
		);
	}

	async shutdown(): Promise<void> {}
}
