// What OpenTelemetry's SDK costs by itself for what one call tells: two spans with their attributes, the headers of the
// second, and three measurements. Nothing that is told in this way can cost less. From the root of the repository:
//
//   node_modules/.bin/node --conditions=snakepit-source packages/telemetry/bench/sdk-floor.ts
import { setImmediate } from "node:timers/promises";
import { propagation, ROOT_CONTEXT, SpanKind, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
	AggregationTemporality,
	InMemoryMetricExporter,
	MeterProvider,
	PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

const CALLS = 100_000;

const tracer = new TracerProvider({
	spanProcessors: [
		new BatchSpanProcessor({
			exporter: {
				export: (_, done) => done({ code: 0 }),
				shutdown: async () => {},
				forceFlush: async () => {},
			},
			maxQueueSize: 1_000_000,
			scheduledDelayMillis: 100,
		}),
	],
}).getTracer("floor");
const meter = new MeterProvider({
	readers: [
		new PeriodicExportingMetricReader({
			exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
			exportIntervalMillis: 3_600_000,
		}),
	],
}).getMeter("floor");
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
const wait = meter.createHistogram("wait");
const attempt = meter.createHistogram("attempt");
const duration = meter.createHistogram("duration");

const pool = { "snakepit.pool.name": "python" };
const command = { ...pool, "snakepit.command": "echo" };

function measurements(): void {
	wait.record(0.001, { ...pool });
	attempt.record(0.001, { ...command });
	duration.record(0.002, {
		...command,
		"snakepit.call.outcome": "succeeded",
	});
}

function spans(index: number): void {
	const call = tracer.startSpan(
		"call echo",
		{
			kind: SpanKind.INTERNAL,
			attributes: {
				...command,
				"snakepit.call.id": `c${index}`,
				"snakepit.call.shape": "unary",
			},
		},
		ROOT_CONTEXT,
	);
	const within = trace.setSpan(ROOT_CONTEXT, call);
	const own = tracer.startSpan(
		"attempt",
		{
			kind: SpanKind.CLIENT,
			attributes: {
				...pool,
				"snakepit.worker.id": "python-0",
				"snakepit.worker.incarnation": "abcdefg-1",
				"snakepit.attempt": 1,
				"process.pid": 7,
			},
		},
		within,
	);
	propagation.inject(trace.setSpan(within, own), {});
	own.end();
	call.setAttribute("snakepit.call.outcome", "succeeded");
	call.setAttribute("snakepit.call.attempts", 1);
	call.end();
}

/** Microseconds of processor time per call; the second of two runs. */
async function cost(action: (index: number) => void): Promise<number> {
	let us = Number.NaN;
	for (let run = 0; run < 2; run++) {
		const begun = process.cpuUsage();
		for (let index = 0; index < CALLS; index++) {
			action(index);
			// Batches are sent between turns.
			if (index % 256 === 0) await setImmediate();
		}
		const { user, system } = process.cpuUsage(begun);
		us = (user + system) / CALLS;
	}
	return us;
}

for (const [what, action] of [
	["two spans and headers", spans],
	["three measurements", measurements],
] as const)
	console.log(`${what.padEnd(24)} ${(await cost(action)).toFixed(1)} us/call`);
process.exit(0);
