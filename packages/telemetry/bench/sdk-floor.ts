// What OpenTelemetry's SDK costs by itself for what one call tells, without a pool. From the root of the repository:
//
//   node_modules/.bin/node --conditions=snakepit-source packages/telemetry/bench/sdk-floor.ts
import { setImmediate } from "node:timers/promises";
import { propagation } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { providers } from "./providers.ts";
import { SdkAlone } from "./sdk-alone.ts";

const CALLS = 20_000;
const RUNS = 7;

propagation.setGlobalPropagator(new W3CTraceContextPropagator());
const alone = new SdkAlone(providers());
const attempt = {
	pool: "python",
	workerId: "python-0",
	incarnation: "abcdefg-1",
	attempt: 1,
	pid: 7,
} as const;

function tell(index: number): void {
	const call = alone.begin(`c${index}`);
	call.dispatched(attempt).released(undefined);
	call.settled(undefined);
}

/** Microseconds of processor time per call. */
async function cost(): Promise<number> {
	const begun = process.cpuUsage();
	for (let index = 0; index < CALLS; index++) {
		tell(index);
		// Batches are sent between turns.
		if (index % 16 === 0) await setImmediate();
	}
	const { user, system } = process.cpuUsage(begun);
	return (user + system) / CALLS;
}

await cost();
const costs: number[] = [];
for (let run = 0; run < RUNS; run++) costs.push(await cost());
costs.sort((a, b) => a - b);
console.log(
	`the SDK alone: ${costs[(RUNS - 1) / 2]?.toFixed(1)} us of processor time per call, the median of ${RUNS} runs of ${CALLS.toLocaleString("en-US")} calls`,
);
process.exit(0);
