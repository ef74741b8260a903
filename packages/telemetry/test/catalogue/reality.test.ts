import type { SnakepitEventType } from "@snakepit/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
	ATTRIBUTES,
	EVENTS,
	eventName,
	METRICS,
	SPAN_EVENTS,
	SPANS,
	telemetry,
} from "../../src/index.ts";
import { MemorySdk, unregister } from "../support/memory-sdk.ts";
import { everything } from "../support/scenario.ts";

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

	attributes(): readonly string[] {
		return [...this.#names.values()].flatMap((seen) => [...seen]);
	}
}

function lines(
	entries: readonly (readonly [string, readonly string[]])[],
): readonly string[] {
	return entries
		.map(([name, attributes]) => `${name}: ${[...attributes].sort().join(" ")}`)
		.sort();
}

const metrics = new Seen();
const spans = new Seen();
const spanEvents = new Seen();
const events = new Seen();
const eventsOfSpans = new Map<string, Set<string>>();

beforeAll(async () => {
	const sdk = new MemorySdk().register();
	const collect = async (): Promise<void> => {
		for (const { descriptor, dataPoints } of await sdk.metrics()) {
			for (const { attributes } of dataPoints)
				metrics.add(descriptor.name, attributes);
			expect(descriptor.unit).toBe(
				METRICS[descriptor.name as keyof typeof METRICS]?.unit,
			);
		}
	};
	await everything(telemetry({ workerLogs: true }), collect);
	await collect();
	for (const span of await sdk.spans()) {
		const name = nameOf(span.name);
		spans.add(name, span.attributes);
		const own = eventsOfSpans.get(name) ?? new Set();
		eventsOfSpans.set(name, own);
		for (const event of span.events) {
			spanEvents.add(event.name, event.attributes ?? {});
			own.add(event.name);
		}
		for (const link of span.links)
			spanEvents.add("(link)", link.attributes ?? {});
	}
	for (const record of sdk.logs())
		events.add(record.eventName ?? "(no name)", record.attributes);
});
afterAll(unregister);

function nameOf(span: string): string {
	return /^(call|back-call) /.exec(span)?.[1] ?? span;
}

describe("the catalogue and what is told are the same, name by name and attribute by attribute", () => {
	test("metrics", () => {
		expect(metrics.lines()).toEqual(
			lines(
				Object.entries(METRICS).map(([name, { attributes }]) => [
					name,
					attributes,
				]),
			),
		);
	});

	test("spans", () => {
		expect(spans.lines()).toEqual(
			lines(
				Object.entries(SPANS).map(([name, { attributes }]) => [
					name,
					attributes,
				]),
			),
		);
	});

	test("events of spans", () => {
		expect(spanEvents.lines()).toEqual(
			lines([
				...Object.entries(SPAN_EVENTS).map(
					([name, { attributes }]) => [name, attributes] as const,
				),
				["(link)", ["snakepit.link"]],
			]),
		);
		expect(
			lines([...eventsOfSpans].map(([name, own]) => [name, [...own]])),
		).toEqual(
			lines(Object.entries(SPANS).map(([name, own]) => [name, own.events])),
		);
	});

	test("events as log records", () => {
		const told = Object.entries(EVENTS).flatMap(([type, { told }]) =>
			told === undefined
				? []
				: [
						[
							eventName(type as SnakepitEventType),
							Object.keys(told.attributes),
						] as const,
					],
		);
		expect(events.lines()).toEqual(lines(told));
	});

	test("attributes", () => {
		const used = new Set(
			[metrics, spans, spanEvents, events].flatMap((each) => each.attributes()),
		);
		expect([...used].sort()).toEqual(Object.keys(ATTRIBUTES).sort());
	});
});

describe("of every event of core", () => {
	test.each(Object.entries(EVENTS))(
		"%s goes somewhere, or there is a reason",
		(_type, { told, spans, metrics, note }) => {
			const places = [told, ...(spans ?? []), ...(metrics ?? [])];
			expect(
				places.some((place) => place !== undefined) || note !== undefined,
			).toBe(true);
		},
	);
});

test("no histogram has a series per process or worker", () => {
	for (const { kind, attributes } of Object.values(METRICS)) {
		if (kind !== "histogram") continue;
		for (const name of [
			"process.pid",
			"snakepit.worker.id",
			"snakepit.worker.incarnation",
			"snakepit.call.id",
		] as const)
			expect(attributes).not.toContain(name);
	}
});
