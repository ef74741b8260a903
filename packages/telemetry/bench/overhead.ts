// What telemetry costs: calls per second of a pool without it, with it and no SDK, and with it and an SDK that
// batches spans, interleaved in one run. From the root of the repository:
//
//   node_modules/.bin/node --expose-gc --conditions=snakepit-source packages/telemetry/bench/overhead.ts [--python PATH] [--rounds N]
//   node_modules/.bin/node --expose-gc --conditions=snakepit-source packages/telemetry/bench/overhead.ts --memory
//
// With --python: one real Python worker, 16 calls in flight. Without: a worker that answers in this program and does
// nothing at all, so that what is measured is the pool itself: the harshest base there is.
import { readdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { context, propagation } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
	BatchLogRecordProcessor,
	LoggerProvider,
} from "@opentelemetry/sdk-logs";
import {
	AggregationTemporality,
	InMemoryMetricExporter,
	MeterProvider,
	PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import {
	type Adapter,
	createPool,
	type Instrument,
	type Pool,
} from "@snakepit/core";
import { telemetry } from "../src/index.ts";

const { values } = parseArgs({
	options: {
		python: { type: "string" },
		rounds: { type: "string", default: "15" },
		memory: { type: "boolean", default: false },
	},
});

/** Takes what it is given and drops it: what sending costs is the exporter's own. */
const sink = {
	export: (_: unknown, done: (result: { code: 0 }) => void): void =>
		done({ code: 0 }),
	shutdown: async (): Promise<void> => {},
	forceFlush: async (): Promise<void> => {},
};

/** A process that sleeps, and a conversation that never leaves this program. */
const nothing: Adapter = {
	name: "nothing",
	launch: () => ({
		executable: process.execPath,
		args: ["-e", "setInterval(() => {}, 1e6)"],
	}),
	connect: async () => ({
		execute: async (_command, args) => args,
		[Symbol.asyncDispose]: async () => {},
	}),
};

function withSdk(): Instrument {
	return telemetry({
		tracerProvider: new TracerProvider({
			spanProcessors: [
				// Nothing may be dropped for want of room: that would be cheaper.
				new BatchSpanProcessor({
					exporter: sink,
					maxQueueSize: 1_000_000,
					scheduledDelayMillis: 100,
				}),
			],
		}),
		meterProvider: new MeterProvider({
			readers: [
				new PeriodicExportingMetricReader({
					exporter: new InMemoryMetricExporter(
						AggregationTemporality.CUMULATIVE,
					),
					exportIntervalMillis: 3_600_000,
				}),
			],
		}),
		loggerProvider: new LoggerProvider({
			processors: [new BatchLogRecordProcessor({ exporter: sink })],
		}),
	});
}

async function openPool(instruments: readonly Instrument[]): Promise<Pool> {
	const common = {
		size: 1,
		callsPerWorker: 16,
		heartbeat: "off",
		instruments,
	} as const;
	if (values.python === undefined)
		return await createPool({ adapter: nothing, ...common });
	const { pythonGrpc } = await import("@snakepit/adapter-grpc-python");
	return await createPool({
		adapter: pythonGrpc({
			tools: new URL("./tools.py", import.meta.url),
			python: values.python,
		}),
		...common,
	});
}

/** What one slice of calls took, by the clock of the wall and by those of the processors. */
interface Slice {
	readonly callsPerSecond: number;
	/** Microseconds of processor time per call, in this program. */
	readonly hostUs: number;
	/** The same in the worker; 0 where that does nothing. */
	readonly workerUs: number;
}

/** 16 calls in flight. */
async function measure(pool: Pool, calls: number): Promise<Slice> {
	const pid = pool.workers()[0]?.pid;
	const begunMs = performance.now();
	const begun = process.cpuUsage();
	const worker = cpuTimeUs(pid);
	let left = calls;
	const line = async (): Promise<void> => {
		while (left-- > 0) await pool.execute("echo", [1]);
	};
	await Promise.all(Array.from({ length: 16 }, line));
	const wallMs = performance.now() - begunMs;
	const { user, system } = process.cpuUsage(begun);
	return {
		callsPerSecond: calls / (wallMs / 1_000),
		hostUs: (user + system) / calls,
		workerUs: (cpuTimeUs(pid) - worker) / calls,
	};
}

/** Of the threads of one process, as the scheduler counts them; 0 elsewhere than on Linux. */
function cpuTimeUs(pid: number | undefined): number {
	if (pid === undefined || process.platform !== "linux") return 0;
	return readdirSync(`/proc/${pid}/task`)
		.map((task) => readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8"))
		.reduce((sum, text) => sum + Number(text.split(" ")[0]) / 1_000, 0);
}

function median(numbers: readonly number[]): number {
	const sorted = [...numbers].sort((a, b) => a - b);
	return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** As a program with an SDK has them, and one without has not. */
function globals(mode: string): void {
	context.disable();
	propagation.disable();
	if (mode !== "SDK, batch exporter") return;
	context.setGlobalContextManager(
		new AsyncLocalStorageContextManager().enable(),
	);
	propagation.setGlobalPropagator(new W3CTraceContextPropagator());
}

async function compare(): Promise<void> {
	const modes = {
		unattached: await openPool([]),
		"no SDK": await openPool([telemetry()]),
		"SDK, batch exporter": await openPool([withSdk()]),
	};
	const calls = values.python === undefined ? 5_000 : 1_000;
	const slices = new Map<string, Slice[]>();
	for (let round = -3; round < Number(values.rounds); round++) {
		// Another order each round, so that no mode always comes after the same one.
		const entries = Object.entries(modes);
		const turn = (round + 3) % entries.length;
		for (const [mode, pool] of [
			...entries.slice(turn),
			...entries.slice(0, turn),
		]) {
			globals(mode);
			globalThis.gc?.();
			const slice = await measure(pool, calls);
			if (round >= 0) slices.set(mode, [...(slices.get(mode) ?? []), slice]);
		}
	}
	const base = slices.get("unattached") ?? [];
	for (const [mode, own] of slices) {
		/** Of the slices of one round, which the machine treats most alike. */
		const ratio = (of: keyof Slice): string =>
			median(
				own.map((each, index) => each[of] / (base[index]?.[of] ?? 0)),
			).toFixed(3);
		const of = (what: keyof Slice): number =>
			median(own.map((each) => each[what]));
		console.log(
			`${mode.padEnd(20)} ${Math.round(of("callsPerSecond")).toLocaleString("en-US").padStart(8)} calls/s (${ratio("callsPerSecond")} of unattached)   host ${of("hostUs").toFixed(1)} us/call (${ratio("hostUs")})${of("workerUs") > 0 ? `   worker ${of("workerUs").toFixed(1)} us/call (${ratio("workerUs")})` : ""}`,
		);
	}
	console.log(`medians of ${base.length} rounds of ${calls} calls`);
	await Promise.all(
		Object.values(modes).map((pool) => pool.close({ manner: "forced" })),
	);
}

async function memory(): Promise<void> {
	globals("SDK, batch exporter");
	const pool = await openPool([withSdk()]);
	for (let done = 0; done <= 1_000_000; done += 100_000) {
		// Time for the batches, which are sent from a timer.
		await new Promise((resolve) => setTimeout(resolve, 300));
		globalThis.gc?.();
		const { heapUsed } = process.memoryUsage();
		console.log(
			`${done.toLocaleString("en-US").padStart(9)} calls  heap ${(heapUsed / 2 ** 20).toFixed(1)} MiB`,
		);
		if (done < 1_000_000) await measure(pool, 100_000);
	}
	await pool.close({ manner: "forced" });
}

await (values.memory ? memory() : compare());
process.exit(0);
