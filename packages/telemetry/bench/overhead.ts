// What telemetry costs: calls per second of a pool without it, with it and no SDK, and with it and an SDK that sends in
// batches, interleaved in one run; and beside them a pool with nothing but the SDK's own calls, which is the floor. From
// the root of the repository:
//
//   node_modules/.bin/node --expose-gc --conditions=snakepit-source packages/telemetry/bench/overhead.ts \
//     [--python PATH [--transport framed]] [--in-flight N] [--rounds N] [--calls N]
//   node_modules/.bin/node --expose-gc --conditions=snakepit-source packages/telemetry/bench/overhead.ts --memory
//
// With --python: one real Python worker. Without: a worker that answers in this program and does nothing at all, so
// that what is measured is the pool itself: the harshest base there is.
import { readdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { context, propagation } from "@opentelemetry/api";
import { createPool, type Pool } from "@snakepit/core";
import type { Adapter } from "@snakepit/core/adapter";
import type { Instrument } from "@snakepit/core/instrument";
import { telemetry } from "../src/index.ts";
import {
	production,
	providers,
	setGlobals,
	withCallMetrics,
} from "./providers.ts";
import { SdkAlone } from "./sdk-alone.ts";

const { values } = parseArgs({
	options: {
		python: { type: "string" },
		transport: { type: "string", default: "grpc" },
		"in-flight": { type: "string", default: "16" },
		rounds: { type: "string", default: "15" },
		calls: { type: "string" },
		memory: { type: "boolean", default: false },
	},
});

// Garbage is collected before each slice: what only one of the pools runs must not be forgotten as unused by that.
setFlagsFromString("--no-flush-bytecode");

const inFlight = Number(values["in-flight"]);

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

async function openPool(instruments: readonly Instrument[]): Promise<Pool> {
	const common = {
		size: 1,
		callsPerWorker: inFlight,
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
			transport: values.transport === "framed" ? "framed" : "grpc",
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

async function measure(pool: Pool, calls: number): Promise<Slice> {
	const pid = pool.workers()[0]?.pid;
	const begunMs = performance.now();
	const begun = process.cpuUsage();
	const worker = cpuTimeUs(pid);
	let left = calls;
	const line = async (): Promise<void> => {
		while (left-- > 0) await pool.execute("echo", [1]);
	};
	await Promise.all(Array.from({ length: inFlight }, line));
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
	if (mode.includes("SDK") && mode !== "no SDK") setGlobals();
}

async function compare(): Promise<void> {
	const modes = {
		unattached: await openPool([]),
		"no SDK": await openPool([telemetry()]),
		SDK: await openPool([telemetry(providers())]),
		"SDK, 1 in 10": await openPool([telemetry(providers(0.1))]),
		"SDK, commands 1 in 10": await openPool([
			telemetry({ ...providers(), commands: { "*": { traces: 0.1 } } }),
		]),
		"SDK, metrics alone": await openPool([
			telemetry({ ...providers(), commands: { "*": { traces: 0 } } }),
		]),
		"SDK, traces 0, no metrics": await openPool([
			telemetry({
				...providers(),
				commands: { "*": { traces: 0, metrics: false } },
			}),
		]),
		"SDK as in production": await openPool([telemetry(production())]),
		"SDK, callMetrics": await openPool([telemetry(withCallMetrics())]),
		"SDK, callMetrics, one span": await openPool([
			telemetry({
				...withCallMetrics(),
				spans: { queue: false, attempt: false },
			}),
		]),
		"SDK, callMetrics, 1 in 10": await openPool([
			telemetry(withCallMetrics(0.1)),
		]),
		"SDK, callMetrics, commands 1 in 10": await openPool([
			telemetry({ ...withCallMetrics(), commands: { "*": { traces: 0.1 } } }),
		]),
		"SDK's own calls": await openPool([new SdkAlone(providers())]),
	};
	const calls = Number(
		values.calls ?? (values.python === undefined ? 5_000 : 1_000),
	);
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
			`${mode.padEnd(34)} ${Math.round(of("callsPerSecond")).toLocaleString("en-US").padStart(8)} calls/s (${ratio("callsPerSecond")} of unattached)   host ${of("hostUs").toFixed(1)} us/call (${ratio("hostUs")})${of("workerUs") > 0 ? `   worker ${of("workerUs").toFixed(1)} us/call (${ratio("workerUs")})` : ""}`,
		);
	}
	console.log(
		`medians of ${base.length} rounds of ${calls} calls, ${inFlight} in flight`,
	);
	await Promise.all(
		Object.values(modes).map((pool) => pool.close({ manner: "forced" })),
	);
}

async function memory(): Promise<void> {
	globals("SDK");
	const pool = await openPool([telemetry(providers())]);
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
