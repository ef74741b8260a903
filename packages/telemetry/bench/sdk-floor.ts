// What telemetry costs for one call, without a pool around it. Taken in turns in one program. From the root of the
// repository:
//
//   node_modules/.bin/node --conditions=snakepit-source packages/telemetry/bench/sdk-floor.ts
import { setImmediate } from "node:timers/promises";
import { context, propagation, type TracerProvider } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import type { PoolInstrument } from "@snakepit/core/instrument";
import { type TelemetryOptions, telemetry } from "../src/index.ts";
import { production, providers, withCallMetrics } from "./providers.ts";

const CALLS = 5_000;
const ROUNDS = 15;

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());

const pool = { name: "python", adapter: "python-grpc", report: () => {} };
const worker = {
	pool: "python",
	workerId: "python-0",
	incarnation: "abcdefg-1",
} as const;
/** The same provider, with tracers that are not the SDK's: its spans are those that the SDK makes. */
function wrapped({ tracerProvider, ...others }: TelemetryOptions) {
	const getTracer: TracerProvider["getTracer"] = (...of) => {
		const tracer = (tracerProvider as TracerProvider).getTracer(...of);
		return {
			startSpan: (...how) => tracer.startSpan(...how),
			startActiveSpan: tracer.startActiveSpan,
		};
	};
	return { ...others, tracerProvider: { getTracer } };
}

// That without an SDK is first: it must not find what the others register.
const followers: Readonly<Record<string, PoolInstrument>> = {
	"no SDK": telemetry().attach(pool),
	"as in production": telemetry(production()).attach(pool),
	"every call": telemetry(withCallMetrics()).attach(pool),
	"every call, one span each": telemetry({
		...withCallMetrics(),
		spans: { queue: false, attempt: false },
	}).attach(pool),
	"1 in 10 by the SDK's sampler": telemetry(withCallMetrics(0.1)).attach(pool),
	"1 in 10 by command": telemetry({
		...withCallMetrics(),
		commands: { "*": { traces: 0.1 } },
	}).attach(pool),
	"every call, spans of the SDK": telemetry(wrapped(withCallMetrics())).attach(
		pool,
	),
	"every call, measured by the SDK": telemetry(providers()).attach(pool),
};
const times = new Map<string, number[]>();

/** What a pool reports of a call that succeeds at once. */
function follow(follower: PoolInstrument, callId: string): void {
	const command = "echo";
	const accepted = follower.accept?.({
		pool: pool.name,
		callId,
		command,
		shape: "unary",
		args: undefined,
		sessionId: undefined,
		traceContext: {},
	});
	const call = accepted?.dispatched === undefined ? undefined : accepted;
	const attempt = call?.dispatched({
		...worker,
		attempt: 1,
		prefetched: false,
		pid: 7,
	});
	follower.measure?.dispatched(command, 1);
	follower.measure?.released(command, 1);
	attempt?.released(undefined, undefined);
	call?.settled(undefined);
	follower.measure?.settled(command, "succeeded", undefined, 2);
}

/** Microseconds of processor time per call. */
async function cost(follower: PoolInstrument): Promise<number> {
	const begun = process.cpuUsage();
	for (let index = 0; index < CALLS; index++) {
		follow(follower, `c${index}`);
		// Batches are sent between turns.
		if (index % 16 === 0) await setImmediate();
	}
	const { user, system } = process.cpuUsage(begun);
	return (user + system) / CALLS;
}

for (let round = -2; round < ROUNDS; round++)
	for (const [name, follower] of Object.entries(followers)) {
		const us = await cost(follower);
		if (round >= 0) times.set(name, [...(times.get(name) ?? []), us]);
	}
for (const [name, each] of times) {
	each.sort((a, b) => a - b);
	console.log(
		`${name.padEnd(33)} ${each[(ROUNDS - 1) / 2]?.toFixed(1).padStart(5)} us/call, at best ${each[0]?.toFixed(1)}`,
	);
}
console.log(
	`processor time, medians of ${ROUNDS} rounds of ${CALLS.toLocaleString("en-US")} calls`,
);
process.exit(0);
