import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
	ATTRIBUTES,
	EVENTS,
	METRICS,
	SPAN_EVENTS,
	SPANS,
	telemetry,
} from "../../src/index.ts";
import {
	Collected,
	type CollectedLines,
	catalogueLines,
} from "../support/collected.ts";
import { MemorySdk, unregister } from "../support/memory-sdk.ts";
import { everything } from "../support/scenario.ts";

let lines: CollectedLines;
let sdk: MemorySdk;

beforeAll(async () => {
	sdk = new MemorySdk().register();
	const collected = new Collected();
	const collect = async (): Promise<void> =>
		collected.addMetrics(await sdk.metrics());
	await everything(telemetry({ workerLogs: true }), collect);
	await collect();
	collected.addSpans(await sdk.spans());
	collected.addRecords(sdk.logs());
	lines = collected.lines();
	expect(lines.events.length).toBeGreaterThan(40);
});
afterAll(unregister);

test.each([
	"metrics",
	"units",
	"spans",
	"spanEvents",
	"eventsOfSpans",
	"events",
] as const)(
	"the catalogue and what is exported are the same, name by name and attribute by attribute: %s",
	(kind) => {
		expect(lines[kind]).toEqual(catalogueLines(lines)[kind]);
	},
);

test("every attribute of the catalogue is used", () => {
	const used = [METRICS, SPANS, SPAN_EVENTS].flatMap((table) =>
		Object.values(table).flatMap(({ attributes }) => attributes),
	);
	const ofEvents = Object.values(EVENTS).flatMap(({ attributes = {} }) =>
		Object.keys(attributes),
	);
	expect([...new Set([...used, ...ofEvents, "snakepit.link"])].sort()).toEqual(
		Object.keys(ATTRIBUTES).sort(),
	);
});

test("the SDK finds nothing wrong with how it is used", () => {
	expect(sdk.complaints).toEqual([]);
});

describe("of every event of core", () => {
	test.each(Object.entries(EVENTS))(
		"%s is exported, or there is a reason",
		(_type, { line, spans, counts, metrics, note }) => {
			const places = [line, counts, ...(spans ?? []), ...(metrics ?? [])];
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
