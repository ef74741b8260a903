import type { SnakepitEventType } from "@snakepit/core";
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
	expect(lines.events.length).toBeGreaterThan(30);
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
	const ofEvents = Object.values(EVENTS).flatMap(({ attributes }) => [
		...attributes.keys(),
	]);
	expect([...new Set([...used, ...ofEvents, "snakepit.link"])].sort()).toEqual(
		Object.keys(ATTRIBUTES).sort(),
	);
});

test("the SDK finds nothing wrong with how it is used", () => {
	expect(sdk.problems).toEqual([]);
});

describe("of every event of core", () => {
	test.each(Object.entries(EVENTS))(
		"%s is exported, or there is a reason",
		(_type, { line, spans = [], counts = [], metrics = [], note }) => {
			const exports = [...spans, ...counts, ...metrics];
			expect(exports.length > 0 || (line ?? note) !== undefined).toBe(true);
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

/** The events that the design of process management names: where each is, and what it must say. */
const DESIGNED: readonly (readonly [
	string,
	SnakepitEventType,
	string,
	string,
])[] = [
	["ping_sent", "heartbeat.sent", "heartbeat.sent", ""],
	[
		"pong_received",
		"heartbeat.answered",
		"heartbeat.answered heartbeat.duration",
		"",
	],
	[
		"heartbeat timeout",
		"heartbeat.missed",
		"heartbeat.missed",
		"worker.id heartbeat.missed_in_a_row heartbeat.timeout",
	],
	[
		"process started",
		"worker.ready",
		"worker.start.duration",
		"worker.id process.pid worker.start.duration",
	],
	[
		"process terminated",
		"worker.exited",
		"worker.exits",
		"worker.id process.exit.code worker.end.reason worker.uptime",
	],
	[
		"cleanup_completed of a worker",
		"worker.exited",
		"worker.stop.duration",
		"worker.id worker.end.killer",
	],
	[
		"cleanup_completed of dead programs",
		"cleanup.finished",
		"cleanup.duration",
		"duration cleanup.killed cleanup.spared",
	],
	["watchdog started", "protection.started", "", "protection.name process.pid"],
	[
		"beam_death_detected",
		"protection.host_death_detected",
		"protection.activations",
		"protection.name run.of process.pid",
	],
	[
		"python_terminated",
		"protection.process_killed",
		"protection.kills",
		"protection.name worker.incarnation process.pid signal",
	],
	[
		"python_terminated, its duration",
		"protection.run_settled",
		"",
		"duration protection.killed",
	],
];

test.each(DESIGNED)("%s is %s", (_, type, metricNames, attributeNames) => {
	const named = (names: string) =>
		names
			.split(" ")
			.filter((name) => name !== "")
			.map((name) => (name.startsWith("process.") ? name : `snakepit.${name}`));
	const { attributes, counts = [], metrics = [] } = EVENTS[type];
	expect([...counts, ...metrics]).toEqual(
		expect.arrayContaining(named(metricNames)),
	);
	expect([...attributes.keys()]).toEqual(
		expect.arrayContaining(named(attributeNames)),
	);
});
