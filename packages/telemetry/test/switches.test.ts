import { scripts, virtualPool } from "@snakepit/core/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type TelemetryOptions, telemetry } from "../src/index.ts";
import { resolveOptions } from "../src/options.ts";
import { MemorySdk, unregister } from "./support/memory-sdk.ts";
import { everything } from "./support/scenario.ts";

let sdk: MemorySdk;
beforeEach(() => {
	sdk = new MemorySdk().register();
});
afterEach(unregister);

/** Every name that is exported with these options. */
async function exported(options: TelemetryOptions): Promise<readonly string[]> {
	const names = new Set<string>();
	const collect = async (): Promise<void> => {
		for (const { descriptor, dataPoints } of await sdk.metrics())
			if (dataPoints.length > 0) names.add(descriptor.name);
	};
	await everything(telemetry(options), collect);
	await collect();
	for (const { name } of await sdk.spans()) names.add(name);
	for (const { eventName } of sdk.logs()) names.add(eventName ?? "");
	return [...names];
}

test.each([
	["heartbeatEvents", /^snakepit\.heartbeat\./],
	["watchdogEvents", /^(snakepit\.)?protection/],
	["processEvents", /^(snakepit\.)?(worker|pool|cleanup|orphan|registry)[. ]/],
] as const)("%s can be switched off as one", async (option, names) => {
	const without = await exported({ [option]: false });
	expect(without.filter((name) => names.test(name))).toEqual([]);
	expect(without).toContain("call echo");
});

/** Every option by its name: the compiler checks that they may be undefined. */
type LeftOut<Options> = { readonly [Name in keyof Options]-?: undefined };

test("an option that is undefined is one that is left out", async () => {
	const leftOut: LeftOut<TelemetryOptions> = {
		enabled: undefined,
		heartbeatEvents: undefined,
		processEvents: undefined,
		watchdogEvents: undefined,
		workerLogs: undefined,
		spans: undefined,
		relation: undefined,
		onCallSpan: undefined,
		redact: undefined,
		commands: undefined,
		tracerProvider: undefined,
		meterProvider: undefined,
		loggerProvider: undefined,
	};
	expect(resolveOptions(leftOut)).toEqual(resolveOptions({}));
});

test("nothing is exported when telemetry is off", async () => {
	expect(await exported({ enabled: false })).toEqual([]);
});

test("what workers print and log is exported only if that is asked for", async () => {
	expect(await exported({})).not.toContain("snakepit.worker.logged");
	expect(await exported({ workerLogs: true })).toContain(
		"snakepit.worker.logged",
	);
	const record = sdk
		.logs()
		.find(({ eventName }) => eventName === "snakepit.worker.logged");
	expect(record?.spanContext).toMatchObject({
		traceId: "0af7651916cd43dd8448eb211c80319c",
		spanId: "b7ad6b7169203331",
	});
});

test("an option that there is not is refused with the one that was meant", () => {
	expect(() => telemetry({ heartbeatEvent: true } as TelemetryOptions)).toThrow(
		'Did you mean "heartbeatEvents"?',
	);
	expect(() => telemetry({ enabled: "yes" } as never)).toThrow(
		"must be true or false",
	);
	expect(() => telemetry({ tracerProvider: {} as never })).toThrow("getTracer");
});

test("of two pools with one telemetry each is exported, and what they share once", async () => {
	const instrument = telemetry();
	const event = {
		type: "orphan.reaped",
		program: undefined,
		wallMs: 1,
		ofRun: "abcdefg" as never,
		pid: 1,
		how: "killed",
		foundBy: "ledger",
	} as const;
	const a = instrument.attach({ name: "a", adapter: "x", report: () => {} });
	const b = instrument.attach({ name: "b", adapter: "x", report: () => {} });
	a.hear(event);
	b.hear(event);
	a.hear({ ...event, pid: 2 });
	expect(await sdk.series("snakepit.orphan.found")).toMatchObject([
		{ value: 2 },
	]);
	const first = await virtualPool(
		{ name: "one", commands: scripts },
		{ instruments: [instrument] },
	);
	const second = await virtualPool(
		{ name: "two", commands: scripts },
		{ instruments: [instrument] },
	);
	const ready = async (): Promise<unknown> =>
		(await sdk.series("snakepit.worker.count"))
			.filter(
				({ attributes }) => attributes["snakepit.worker.state"] === "ready",
			)
			.map(({ attributes, value }) => [
				attributes["snakepit.pool.name"],
				value,
			]);
	expect(await ready()).toEqual([
		["one", 1],
		["two", 1],
	]);
	await first.close();
	expect(await ready()).toEqual([
		["one", 0],
		["two", 1],
	]);
	await second.close();
});
