import { type EventOf, ToolError } from "@snakepit/core";
import { scripts } from "@snakepit/core/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { virtualPoolBench } from "../../core/src/testing/virtual-pool.ts";
import { telemetry } from "../src/index.ts";
import { MemorySdk, unregister } from "./support/memory-sdk.ts";

let sdk: MemorySdk;
beforeEach(() => {
	sdk = new MemorySdk().register();
});
afterEach(unregister);

const MEGABYTE = "x".repeat(1_000_000);

function fail(): never {
	throw new Error("mine");
}

async function drops(reason: string): Promise<number> {
	const series = await sdk.series("snakepit.telemetry.dropped");
	return (
		series.find(
			({ attributes }) => attributes["snakepit.drop.reason"] === reason,
		)?.value ?? 0
	);
}

test("values of a megabyte are cut, and the cuts are counted", async () => {
	const { pool, close } = await virtualPoolBench(
		{
			commands: {
				[MEGABYTE]: scripts.echo,
				fails: () => {
					throw new ToolError({
						ran: "maybe",
						message: MEGABYTE,
						remote: {
							type: MEGABYTE,
							message: MEGABYTE,
							traceback: MEGABYTE,
						},
					});
				},
			},
		},
		{ instruments: [telemetry()] },
	);
	expect(await pool.execute(MEGABYTE, 1)).toBe(1);
	await expect(pool.execute("fails")).rejects.toThrow();
	const longest = (await sdk.spans())
		.flatMap(({ name, attributes, events, status }) => [
			name,
			status.message ?? "",
			...Object.values(attributes),
			...events.flatMap((event) => Object.values(event.attributes ?? {})),
		])
		.map((value) => String(value).length);
	expect(Math.max(...longest)).toBe(16_384);
	expect(await drops("attribute_cut")).toBeGreaterThan(3);
	await close();
});

test("a thousand commands have a hundred series, and one for the others", async () => {
	const names = Array.from({ length: 1_000 }, (_, index) => `c${index}`);
	const { pool, close } = await virtualPoolBench(
		{ commands: Object.fromEntries(names.map((name) => [name, scripts.echo])) },
		{ instruments: [telemetry()] },
	);
	for (const name of names) await pool.execute(name, 1);
	const series = await sdk.series("snakepit.call.duration");
	expect(series).toHaveLength(101);
	expect(
		series.find(({ attributes }) => attributes["snakepit.command"] === "_OTHER")
			?.value,
	).toBe(900);
	expect(await drops("command_limit")).toBe(900);
	await close();
});

test("what workers log is cut in the same way", async () => {
	const { adapter, close } = await virtualPoolBench(
		{ commands: scripts },
		{ instruments: [telemetry({ workerLogs: true })] },
	);
	adapter.workers[0]?.log(MEGABYTE, { traceback: MEGABYTE });
	const record = sdk
		.logs()
		.find(({ eventName }) => eventName === "snakepit.worker.logged");
	expect(String(record?.body).length).toBe(4_096);
	expect(
		String(record?.attributes["exception.stacktrace"]).length,
	).toBeLessThanOrEqual(16_384);
	expect(await drops("attribute_cut")).toBe(2);
	await close();
});

test("instruments of a meter that throw hurt no call, and are counted by those that do not", async () => {
	const meter = sdk.meters.getMeter("test");
	const { pool, close } = await virtualPoolBench(
		{ commands: scripts },
		{
			instruments: [
				telemetry({
					meterProvider: {
						getMeter: () =>
							new Proxy(meter, {
								get: (target, name) =>
									name === "createHistogram"
										? () => ({ record: fail })
										: Reflect.get(target, name).bind(target),
							}),
					},
				}),
			],
		},
	);
	expect(await pool.execute("echo", 1)).toBe(1);
	// The wait, the attempt and the call, and the start of the worker.
	expect(await drops("meter_threw")).toBe(4);
	await close();
});

test("without a meter that works nothing is counted, and no call is hurt", async () => {
	const instrument = { add: fail, record: fail };
	const observable = { addCallback: fail, removeCallback: fail };
	const threw: unknown[] = [];
	const { pool, close } = await virtualPoolBench(
		{ commands: { [MEGABYTE]: scripts.echo } },
		{
			instruments: [
				telemetry({
					meterProvider: {
						getMeter: () =>
							({
								createCounter: () => instrument,
								createHistogram: () => instrument,
								createObservableCounter: () => observable,
								createObservableUpDownCounter: () => observable,
								createObservableGauge: () => observable,
								addBatchObservableCallback: () => {},
							}) as never,
					},
				}),
			],
			onEvent: (event) => {
				if (event.type === "listener.threw") threw.push(event.error);
			},
		},
	);
	expect(await pool.execute(MEGABYTE, 1)).toBe(1);
	expect((await sdk.spans()).map(({ name }) => name)).toContain(
		`attempt ${MEGABYTE.slice(0, 127)}…`,
	);
	await close();
	expect(threw).toEqual([]);
});

test("a tracer and a logger that throw hurt no call, and what they lost is counted where it can be", async () => {
	const tracer = { startSpan: fail, startActiveSpan: fail };
	const { pool, clock, close } = await virtualPoolBench(
		{ commands: scripts },
		{
			instruments: [
				telemetry({
					tracerProvider: { getTracer: () => tracer },
					loggerProvider: { getLogger: () => ({ emit: fail }) },
				}),
			],
		},
	);
	expect(await pool.execute("echo", 1)).toBe(1);
	const crashed = pool.execute("crash").catch((error) => error);
	await clock.advance(1_000);
	expect(await crashed).toMatchObject({ code: "WORKER_EXITED" });
	expect(await drops("tracer_threw")).toBeGreaterThan(0);
	expect(await drops("logger_threw")).toBeGreaterThan(0);
	await close();
});

/** The methods that are still called on a span that throws. */
const BEGIN = (name: string | symbol, key: unknown): boolean =>
	name === "setAttribute" && key !== "snakepit.call.outcome";

test.each([
	["when they are touched", () => false, []],
	[
		"at their end",
		BEGIN,
		["instrument.dispatched", "instrument.settled", "instrument.traceId"],
	],
] as const)(
	"spans that throw %s hurt no call",
	async (_, isTaken, reported) => {
		const span = new Proxy(
			{},
			{
				get: (_, name) => (key: unknown) => {
					if (name === "isRecording") return true;
					if (!isTaken(name, key)) throw new Error(`mine: ${String(name)}`);
				},
			},
		);
		const tracer = { startSpan: () => span, startActiveSpan: () => span };
		const threw: EventOf<"listener.threw">[] = [];
		const { pool, close } = await virtualPoolBench(
			{ commands: scripts },
			{
				instruments: [
					telemetry({ tracerProvider: { getTracer: () => tracer as never } }),
				],
				onEvent: (event) => {
					if (event.type === "listener.threw") threw.push(event);
				},
			},
		);
		expect(await pool.execute("echo", 1)).toBe(1);
		expect(await Array.fromAsync(pool.stream("count", 2))).toEqual([0, 1]);
		await close();
		expect(new Set(threw.map(({ of }) => of))).toEqual(new Set(reported));
		expect(await drops("listener_threw")).toBe(threw.length);
		expect(await drops("tracer_threw")).toBeGreaterThan(0);
	},
);

test("an exporter that throws hurts no call", async () => {
	const given: unknown[] = [];
	sdk = new MemorySdk({
		exporter: {
			export: (spans) => {
				given.push(...spans);
				throw new Error("mine");
			},
			shutdown: async () => {},
		},
	}).register();
	const { pool, close } = await virtualPoolBench(
		{ commands: scripts },
		{ instruments: [telemetry()] },
	);
	expect(await pool.execute("echo", 1)).toBe(1);
	expect(await pool.execute("echo", 2)).toBe(2);
	await close();
	await sdk.tracers.forceFlush();
	// Two calls with their attempts, at least: each was given, and threw.
	expect(given.length).toBeGreaterThan(4);
	expect(await sdk.series("snakepit.call.duration")).toMatchObject([
		{ value: 2 },
	]);
});

test("another listener that throws is counted", async () => {
	const { pool, close } = await virtualPoolBench(
		{ commands: scripts },
		{
			instruments: [telemetry()],
			onEvent: () => {
				throw new Error("mine");
			},
		},
	);
	expect(await pool.execute("echo", 1)).toBe(1);
	expect(await drops("listener_threw")).toBeGreaterThan(3);
	await close();
});

test("an SDK that is shut down during a call affects neither this call nor the next", async () => {
	const { pool, clock, close } = await virtualPoolBench(
		{ commands: scripts },
		{ instruments: [telemetry()] },
	);
	const call = pool.execute("work", 100);
	await Promise.all([
		sdk.tracers.shutdown(),
		sdk.meters.shutdown(),
		sdk.loggers.shutdown(),
	]);
	await clock.advance(200);
	expect(await call).toBeUndefined();
	expect(await pool.execute("echo", 1)).toBe(1);
	await close();
});
