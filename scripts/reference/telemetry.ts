import type { SnakepitEventType } from "@snakepit/core";
import {
	ATTRIBUTES,
	EVENTS,
	type EventExport,
	EXCEPTION_RECORDS,
	eventName,
	METRICS,
	prometheusName,
	SCOPE,
	SPAN_EVENTS,
	SPANS,
} from "@snakepit/telemetry";
import { markdownTable } from "../markdown-table.ts";
import { page } from "./page.ts";

const code = (text: string): string => `\`${text}\``;
const codes = (texts: readonly string[]): string => texts.map(code).join(", ");

/** docs/reference/telemetry.md */
export function telemetryReference(): string {
	return page(
		"Telemetry",
		"Everything that `@snakepit/telemetry` exports. A test runs a scenario and compares this catalogue with what was exported, name by name and attribute by attribute, both ways. How to use it: [telemetry](../telemetry.md); what can be switched off: [options](options.md#telemetry).",
		`The instrumentation scope of all is \`${SCOPE.name}\`, with the version of the package and the schema URL \`${SCOPE.schemaUrl}\`.`,
		"## Spans",
		markdownTable(
			["span", "kind", "parent", "links", "meaning", "attributes", "events"],
			Object.values(SPANS).map((span) => [
				code(span.name),
				span.kind,
				span.parent,
				span.links,
				span.description,
				codes(span.attributes),
				codes(span.events),
			]),
		),
		"## Events of spans",
		markdownTable(
			["event", "meaning", "attributes"],
			Object.entries(SPAN_EVENTS).map(([name, event]) => [
				code(name),
				event.description,
				codes(event.attributes),
			]),
		),
		"## Exceptions as log records",
		`With \`OTEL_SEMCONV_EXCEPTION_SIGNAL_OPT_IN=logs\` instead of the event \`exception\` of spans, with \`logs/dup\` besides it. The records \`${eventName("worker.start_failed")}\` and \`${eventName("pool.start_failed")}\` have the attributes, too.`,
		markdownTable(
			["event", "severity", "meaning", "attributes"],
			Object.entries(EXCEPTION_RECORDS).map(
				([name, { severity, description }]) => [
					code(name),
					severity,
					description,
					codes(SPAN_EVENTS.exception.attributes),
				],
			),
		),
		"## Metrics",
		"The names in Prometheus depend on the way there: scraped from `@opentelemetry/exporter-prometheus`, or sent as OTLP.",
		markdownTable(
			["metric", "kind", "unit", "meaning", "attributes", "exporter", "OTLP"],
			(Object.keys(METRICS) as (keyof typeof METRICS)[]).map((name) => {
				const { kind, unit, description, attributes } = METRICS[name];
				return [
					code(name),
					kind,
					code(unit),
					description,
					codes(attributes),
					code(prometheusName(name, "exporter")),
					code(prometheusName(name, "otlp")),
				];
			}),
		),
		"## Events",
		"Log records with an event name. The severity may depend on what happened.",
		markdownTable(
			["event", "attributes", "also"],
			entries().flatMap(([type, row]) =>
				row.line === undefined
					? []
					: [
							[
								code(eventName(type)),
								codes([...row.attributes.keys()]),
								[
									elsewhere(row),
									row.onlyWith === undefined
										? ""
										: `only with ${code(row.onlyWith)}`,
								]
									.filter((text) => text !== "")
									.join("; "),
							],
						],
			),
		),
		"## Events of core that are no log records",
		markdownTable(
			["event of core", "where it is", "note"],
			entries().flatMap(([type, row]) =>
				row.line === undefined
					? [[code(type), elsewhere(row), row.note ?? ""]]
					: [],
			),
		),
		"## Attributes",
		markdownTable(
			["attribute", "type", "meaning"],
			Object.entries(ATTRIBUTES).map(([name, { type, description }]) => [
				code(name),
				type,
				description,
			]),
		),
	);
}

function entries(): readonly [SnakepitEventType, EventExport][] {
	return Object.entries(EVENTS) as never;
}

function elsewhere({
	spans = [],
	counts = [],
	metrics = [],
}: EventExport): string {
	return [
		...spans.map((name) => `span ${code(name)}`),
		...[...counts, ...metrics].map((name) => `metric ${code(name)}`),
	].join(", ");
}
