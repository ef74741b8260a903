import { type Context, context, trace } from "@opentelemetry/api";
import {
	AggregationTemporality,
	InMemoryMetricExporter,
	MeterProvider,
	PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { scripts } from "@snakepit/core/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MemorySdk, unregister } from "../support/memory-sdk.ts";
import { FollowedPools } from "../trace/followed-pools.ts";

let sdk: MemorySdk;
const pools = new FollowedPools();
beforeEach(() => {
	sdk = new MemorySdk().register();
});
afterEach(async () => {
	await pools.close();
	unregister();
});

const DURATIONS = [
	"snakepit.call.wait_time",
	"snakepit.attempt.duration",
	"snakepit.call.duration",
] as const;

/** A provider that notes in which context each duration is measured, as one with exemplars does. */
function noting(seen: (name: string, within: Context) => void): MeterProvider {
	return new MeterProvider({
		readers: [
			new PeriodicExportingMetricReader({
				exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
				exportIntervalMillis: 3_600_000,
			}),
		],
		views: DURATIONS.map((instrumentName) => ({
			instrumentName,
			attributesProcessors: [
				{
					process: (attributes, within = context.active()) => {
						seen(instrumentName, within);
						return attributes;
					},
				},
			],
		})),
	});
}

test("the durations of a call are measured in its context, whoever's call is active, so that an exemplar finds its trace", async () => {
	const seen: Record<string, (string | undefined)[]> = {};
	const meterProvider = noting((name, within) => {
		seen[name] ??= [];
		seen[name].push(trace.getSpanContext(within)?.traceId);
	});
	const { pool, clock } = await pools.open(
		{ work: scripts.work },
		{ meterProvider, commands: { unsampled: { traces: 0 } } },
	);
	// The second waits: it is sent, and measured, when the first has ended.
	const calls = [pool.execute("work", 10), pool.execute("work", 20)];
	await clock.advance(100);
	await Promise.all(calls);
	const traces = (await sdk.spans())
		.filter(({ name }) => name === "call work")
		.map((span) => span.spanContext().traceId);
	expect(new Set(traces).size).toBe(2);
	for (const name of DURATIONS) expect(seen[name]).toEqual(traces);
});

test("the durations of a call that is not sampled belong to no trace", async () => {
	const seen: unknown[] = [];
	const meterProvider = noting((_, within) =>
		seen.push(trace.getSpanContext(within)),
	);
	const { pool } = await pools.open(
		{ echo: scripts.echo },
		{ meterProvider, commands: { "*": { traces: 0 } } },
	);
	await pool.execute("echo", 1);
	expect(seen).toEqual([undefined, undefined, undefined]);
});
