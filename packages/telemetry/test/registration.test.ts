import { logs, metrics, trace } from "@opentelemetry/api";
import type { EventOf, SnakepitEvent } from "@snakepit/core";
import { doctor } from "@snakepit/core/inspect";
import type { LayerReport } from "@snakepit/core/protection";
import { scripts, virtualPool } from "@snakepit/core/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type TelemetryOptions, telemetry } from "../src/index.ts";
import { MemorySdk, unregister } from "./support/memory-sdk.ts";

const warnings: string[] = [];
beforeEach(() => {
	unregister();
	vi.spyOn(process, "emitWarning").mockImplementation((text) => {
		warnings.push(String(text));
	});
});
afterEach(() => {
	unregister();
	warnings.length = 0;
	vi.restoreAllMocks();
});

async function inspected(options?: TelemetryOptions): Promise<LayerReport> {
	const layers = await doctor({ instruments: [telemetry(options)] });
	const found = layers.find(({ layer }) => layer === "telemetry");
	if (found === undefined) throw new Error("The doctor says nothing of it.");
	return found;
}

/** As a program does that has one copy of the API. */
function registerWithThisCopy(): MemorySdk {
	const sdk = new MemorySdk();
	trace.setGlobalTracerProvider(sdk.tracers);
	metrics.setGlobalMeterProvider(sdk.meters);
	logs.setGlobalLoggerProvider(sdk.loggers);
	return sdk;
}

test.each([
	["with this copy of the API", registerWithThisCopy, "no metrics", 1],
	// It begins with a tracer provider of its own, as another copy does.
	[
		"with another copy",
		() => new MemorySdk().register(),
		"no spans and no metrics",
		0,
	],
] as const)(
	"an SDK that is registered after the first pool (%s) is reported once, with what is lost; events are exported",
	async (_, register, lost, spans) => {
		const reported: EventOf<"telemetry.misconfigured">[] = [];
		const { pool, close } = await virtualPool(
			{ commands: scripts },
			{
				instruments: [telemetry()],
				onEvent: (event: SnakepitEvent) => {
					if (event.type === "telemetry.misconfigured") reported.push(event);
				},
			},
		);
		await pool.execute("echo", "unseen");
		expect(reported).toEqual([]);
		const sdk = register();
		await pool.execute("echo", "seen");
		await close();
		expect(reported).toEqual([
			expect.objectContaining({
				reason: "sdk_registered_late",
				message: expect.stringContaining(
					`was made: ${lost} of Snakepit are exported`,
				),
				remedy: expect.stringContaining("before the first createPool"),
			}),
		]);
		expect(warnings).toEqual([expect.stringContaining(lost)]);
		expect(await sdk.series("snakepit.call.duration")).toEqual([]);
		const calls = (await sdk.spans()).filter(
			({ name }) => name === "call echo",
		);
		expect(calls).toHaveLength(spans);
		const events = sdk.logs().map(({ eventName }) => eventName);
		expect(events).toContain("snakepit.telemetry.misconfigured");
		expect(events).toContain("snakepit.pool.closed");
	},
);

test("neither an SDK that is registered in time nor a missing SDK is a problem", async () => {
	for (const register of [() => {}, () => new MemorySdk().register()]) {
		register();
		const types: string[] = [];
		const { pool, close } = await virtualPool(
			{ commands: scripts },
			{
				instruments: [telemetry()],
				onEvent: ({ type }: SnakepitEvent) => types.push(type),
			},
		);
		await pool.execute("echo", "x");
		await close();
		expect(types).toContain("pool.closed");
		expect(types).not.toContain("telemetry.misconfigured");
	}
	expect(warnings).toEqual([]);
});

test("the doctor says what would be exported", async () => {
	expect(await inspected()).toMatchObject({
		status: "available",
		detail: "no OpenTelemetry SDK is registered in this program",
		remedy: expect.stringContaining("--import ./instrumentation.js"),
	});
	expect(await inspected({ enabled: false })).toMatchObject({
		status: "available",
		detail: "is switched off",
	});
	const { tracers } = new MemorySdk();
	expect(await inspected({ tracerProvider: tracers })).toMatchObject({
		status: "active",
		detail: expect.stringContaining(
			"a provider is registered for traces; none for metrics, log records",
		),
	});
	new MemorySdk().register();
	expect(await inspected()).toEqual({
		layer: "telemetry",
		status: "active",
		detail: expect.stringContaining(
			"a provider is registered for traces, metrics, log records",
		),
	});
});

test.each([
	[
		"none",
		{},
		"older one: no spans and no metrics of Snakepit are exported, and a",
	],
	[
		"one for traces",
		{ tracerProvider: new MemorySdk().tracers },
		"older one: no metrics of Snakepit are exported, and a",
	],
	[
		"both",
		{
			tracerProvider: new MemorySdk().tracers,
			meterProvider: new MemorySdk().meters,
		},
		"older one: a",
	],
] as const)(
	"where an older API refuses, providers that are given are not said to be lost (%s)",
	async (_, options, said) => {
		const key = Symbol.for("opentelemetry.js.api.1");
		const { tracers, meters } = new MemorySdk();
		Reflect.set(globalThis, key, {
			version: "1.0.0",
			trace: tracers,
			metrics: meters,
		});
		try {
			const report = await inspected(options);
			expect(report.status).toBe("unavailable");
			expect(report.detail).toContain(
				`${said} caller's trace does not reach the workers`,
			);
		} finally {
			Reflect.deleteProperty(globalThis, key);
		}
	},
);
