import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ATTRIBUTES, EVENTS, METRICS, telemetry } from "../../src/index.ts";
import { MemorySdk, unregister } from "../support/memory-sdk.ts";
import { everything } from "../support/scenario.ts";
import { catalogueLines, Told, type ToldLines } from "../support/told.ts";

let lines: ToldLines;
let sdk: MemorySdk;

beforeAll(async () => {
	sdk = new MemorySdk().register();
	const told = new Told();
	const collect = async (): Promise<void> =>
		told.addMetrics(await sdk.metrics());
	await everything(telemetry({ workerLogs: true }), collect);
	await collect();
	told.addSpans(await sdk.spans());
	told.addRecords(sdk.logs());
	lines = told.lines();
});
afterAll(unregister);

describe("the catalogue and what is told are the same, name by name and attribute by attribute", () => {
	test.each(
		Object.entries(catalogueLines()) as [
			keyof ReturnType<typeof catalogueLines>,
			readonly string[],
		][],
	)("%s", (kind, expected) => {
		expect(lines[kind]).toEqual(expected);
	});

	test("attributes", () => {
		expect(lines.attributes).toEqual(Object.keys(ATTRIBUTES).sort());
	});
});

test("the SDK finds nothing wrong with how it is used", () => {
	expect(sdk.complaints).toEqual([]);
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
