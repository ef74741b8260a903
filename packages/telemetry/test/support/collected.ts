import type { SnakepitEventType } from "@snakepit/core";
import {
	EVENTS,
	eventName,
	METRICS,
	SPAN_EVENTS,
	SPANS,
} from "../../src/index.ts";

/** Names and, for each, the attributes that were seen on it. */
class Seen {
	readonly #names = new Map<string, Set<string>>();

	add(name: string, attributes: object): void {
		const seen = this.#names.get(name) ?? new Set();
		this.#names.set(name, seen);
		for (const [key, value] of Object.entries(attributes))
			if (value !== undefined) seen.add(key);
	}

	/** As lines, which is how a difference is read best. */
	lines(): readonly string[] {
		return lines(
			[...this.#names].map(([name, seen]) => [name, [...seen]] as const),
		);
	}
}

/** As far as both lines of the SDK have it alike. */
interface SpanSeen {
	readonly name: string;
	readonly attributes: object;
	readonly events: readonly {
		readonly name: string;
		readonly attributes?: object | undefined;
	}[];
	readonly links: readonly { readonly attributes?: object | undefined }[];
}

interface MetricSeen {
	readonly descriptor: { readonly name: string; readonly unit: string };
	readonly dataPoints: readonly { readonly attributes: object }[];
}

interface RecordSeen {
	readonly eventName?: string | undefined;
	readonly attributes: object;
}

/** Each name with what is on it, as sorted lines. */
export interface CollectedLines {
	readonly metrics: readonly string[];
	readonly units: readonly string[];
	readonly spans: readonly string[];
	readonly spanEvents: readonly string[];
	/** Which events were on which span. */
	readonly eventsOfSpans: readonly string[];
	readonly events: readonly string[];
}

/** Gathers what an SDK received. */
export class Collected {
	readonly #metrics = new Seen();
	readonly #units = new Map<string, string>();
	readonly #spans = new Seen();
	readonly #spanEvents = new Seen();
	readonly #events = new Seen();
	readonly #eventsOfSpans = new Map<string, Set<string>>();

	addMetrics(metrics: readonly MetricSeen[]): void {
		for (const { descriptor, dataPoints } of metrics) {
			for (const { attributes } of dataPoints)
				this.#metrics.add(descriptor.name, attributes);
			this.#units.set(descriptor.name, descriptor.unit);
		}
	}

	addSpans(spans: readonly SpanSeen[]): void {
		for (const span of spans) {
			const name =
				/^(call|attempt|back-call|job) /.exec(span.name)?.[1] ?? span.name;
			this.#spans.add(name, span.attributes);
			const own = this.#eventsOfSpans.get(name) ?? new Set();
			this.#eventsOfSpans.set(name, own);
			for (const event of span.events) {
				this.#spanEvents.add(event.name, event.attributes ?? {});
				own.add(event.name);
			}
			for (const link of span.links)
				this.#spanEvents.add("(link)", link.attributes ?? {});
		}
	}

	addRecords(records: readonly RecordSeen[]): void {
		for (const { eventName, attributes } of records)
			this.#events.add(eventName ?? "(no name)", attributes);
	}

	lines(): CollectedLines {
		return {
			metrics: this.#metrics.lines(),
			units: lines([...this.#units].map(([name, unit]) => [name, [unit]])),
			spans: this.#spans.lines(),
			spanEvents: this.#spanEvents.lines(),
			eventsOfSpans: lines(
				[...this.#eventsOfSpans].map(([name, own]) => [name, [...own]]),
			),
			events: this.#events.lines(),
		};
	}
}

/** The same from the catalogue, of the events that were seen: the table itself makes their records, so not each has to happen. */
export function catalogueLines(seen: CollectedLines): CollectedLines {
	const happened = new Set(seen.events.map((line) => line.split(":", 1)[0]));
	return {
		metrics: lines(
			Object.entries(METRICS).map(([name, { attributes }]) => [
				name,
				attributes,
			]),
		),
		units: lines(
			Object.entries(METRICS).map(([name, { unit }]) => [name, [unit]]),
		),
		spans: lines(
			Object.entries(SPANS).map(([name, { attributes }]) => [name, attributes]),
		),
		spanEvents: lines([
			...Object.entries(SPAN_EVENTS).map(
				([name, { attributes }]) => [name, attributes] as const,
			),
			["(link)", ["snakepit.link"]],
		]),
		eventsOfSpans: lines(
			Object.entries(SPANS).map(([name, own]) => [name, own.events]),
		),
		events: lines(
			Object.entries(EVENTS).flatMap(([type, { line, attributes }]) =>
				line !== undefined && happened.has(eventName(type as SnakepitEventType))
					? [
							[
								eventName(type as SnakepitEventType),
								[...attributes.keys()],
							] as const,
						]
					: [],
			),
		),
	};
}

function lines(
	entries: readonly (readonly [string, readonly string[]])[],
): readonly string[] {
	return entries
		.map(([name, attributes]) => `${name}: ${[...attributes].sort().join(" ")}`)
		.sort();
}
