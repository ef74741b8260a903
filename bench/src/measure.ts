import {
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getHeapSpaceStatistics } from "node:v8";
import type { Figures, Pace } from "./case.ts";

/** The value below which so many percent of the samples are; the samples get sorted. */
function percentile(samples: Float64Array, percent: number): number {
	const sorted = samples.sort();
	const at = Math.ceil((percent / 100) * sorted.length) - 1;
	return sorted[Math.max(0, at)] ?? Number.NaN;
}

/** The value in the middle, or between the two in the middle. */
export function median(values: readonly number[]): number {
	const sorted = values.toSorted((a, b) => a - b);
	const half = (sorted.length - 1) / 2;
	const low = sorted[Math.floor(half)] ?? Number.NaN;
	return (low + (sorted[Math.ceil(half)] ?? Number.NaN)) / 2;
}

/** One call after the other, and what each took. Figures: p50_us, p99_us, host_cpu_us. */
export async function measureLatency(
	call: () => Promise<unknown>,
	{ warmUpMs, measureMs }: Pace,
): Promise<Figures> {
	await timesOf(call, warmUpMs);
	const before = process.cpuUsage();
	const times = await timesOf(call, measureMs);
	const { user, system } = process.cpuUsage(before);
	const sorted = Float64Array.from(times);
	return {
		p50_us: percentile(sorted, 50) * 1000,
		p99_us: percentile(sorted, 99) * 1000,
		host_cpu_us: (user + system) / times.length,
	};
}

/** Calls one after the other for a while, three times at least; what each took, in milliseconds. */
async function timesOf(
	call: () => Promise<unknown>,
	ms: number,
): Promise<readonly number[]> {
	const times: number[] = [];
	const begin = performance.now();
	let now = begin;
	while (times.length < 3 || now - begin < ms) {
		await call();
		const after = performance.now();
		times.push(after - now);
		now = after;
	}
	return times;
}

/** Keeps `inFlight` calls running, and returns how many are answered per second. */
export async function measureThroughput(
	call: () => Promise<unknown>,
	inFlight: number,
	{ warmUpMs, measureMs }: Pace,
): Promise<number> {
	await keepCalling(call, inFlight, warmUpMs);
	return (await keepCalling(call, inFlight, measureMs)).callsPerSecond;
}

/** Calls answered per second, and the processor time of this process for each. */
export interface CallRate {
	readonly answered: number;
	readonly callsPerSecond: number;
	readonly cpuUs: number;
}

/** Keeps `inFlight` calls running for a while. */
export async function keepCalling(
	call: () => Promise<unknown>,
	inFlight: number,
	ms: number,
): Promise<CallRate> {
	const before = process.cpuUsage();
	const begin = performance.now();
	const end = begin + ms;
	let answered = 0;
	const one = async (): Promise<void> => {
		while (performance.now() < end) {
			await call();
			answered++;
		}
	};
	await Promise.all(Array.from({ length: inFlight }, one));
	const { user, system } = process.cpuUsage(before);
	return {
		answered,
		callsPerSecond: (answered * 1000) / (performance.now() - begin),
		cpuUs: (user + system) / answered,
	};
}

/** The same calls one after the other for a while, three times at least. */
export async function callRepeatedly(call: () => Promise<unknown>, ms: number) {
	const times = await timesOf(call, ms);
	const calls = times.length;
	const allMs = times.reduce((sum, each) => sum + each, 0);
	return {
		...{ calls, perSecond: (calls * 1000) / allMs },
		leastMs: Math.min(...times),
	};
}

/**
 * The rates of two sides, in pairs of slices by turns: what comes in waves on the machine affects both. By turns also who
 * is first.
 */
export async function ratesByTurns(
	[one, other]: readonly [Slice, Slice],
	pairs: number,
): Promise<readonly (readonly [CallRate, CallRate])[]> {
	const rates: [CallRate, CallRate][] = [];
	for (let pair = 0; pair < pairs; pair++) {
		const early = pair % 2 === 0 ? await one() : undefined;
		const rate = await other();
		rates.push([early ?? (await one()), rate]);
	}
	return rates;
}

type Slice = () => Promise<CallRate>;

const TICK_MS = 1;

/** Watches how late this process's event loop is, until `stop` is called. */
export function watchLoop() {
	const lags: number[] = [];
	let due = performance.now() + TICK_MS;
	const note = (): void => {
		const now = performance.now();
		// A long turn delays every tick that was due in it, not only one.
		for (; due <= now; due += TICK_MS) lags.push(now - due);
	};
	const timer = setInterval(note, TICK_MS);
	return {
		stop: () => {
			note();
			clearInterval(timer);
			const sorted = Float64Array.from(lags);
			return { p99Ms: percentile(sorted, 99), maxMs: sorted.at(-1) ?? 0 };
		},
	};
}

/**
 * The median, and the interval of two of the values in which that of the population lies with 95 % confidence. It assumes nothing of their distribution: load makes a few of them very
 * large. Source: Conover, Practical Nonparametric Statistics, 3.2. Six values at least.
 */
export function medianInterval(values: readonly number[]) {
	if (values.length < 6) throw new RangeError("Six values are needed.");
	const sorted = values.toSorted((a, b) => a - b);
	const reach = (1.96 * Math.sqrt(sorted.length)) / 2;
	const low = Math.max(0, Math.floor(sorted.length / 2 - reach));
	return {
		median: median(sorted),
		low: sorted[low] ?? Number.NaN,
		high: sorted[sorted.length - 1 - low] ?? Number.NaN,
	};
}

/** Clock ticks of /proc/PID/stat in a second: 100 on every Linux that Node runs on. */
const TICKS = 100;
const KILOBYTE = 1024;

/** Processor time that these processes have used, in seconds. Linux only. */
export function cpuSeconds(pids: readonly number[]): number {
	let ticks = 0;
	for (const pid of pids) {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		ticks += Number(fields[11]) + Number(fields[12]);
	}
	return ticks / TICKS;
}

/** Processor time of all processes that this one sees; of those that end meanwhile nothing counts. Linux only. */
export function cpuSecondsOfAll(): number {
	const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
	return pids.reduce((sum, pid) => {
		try {
			return sum + cpuSeconds([Number(pid)]);
		} catch {
			return sum; // It has ended.
		}
	}, 0);
}

/** Memory of a process in which shared pages count by their share, in bytes. Linux only. */
export function proportionalBytes(pid: number): number {
	return field(`/proc/${pid}/smaps_rollup`, "Pss");
}

export function residentBytes(pid: number): number {
	return field(`/proc/${pid}/status`, "VmRSS");
}

/** The most that has been resident since `forgetPeak`, in bytes. Linux only. */
export function peakBytes(pid: number): number {
	return field(`/proc/${pid}/status`, "VmHWM");
}

/** From now on `peakBytes` counts anew. */
export function forgetPeak(pid: number): void {
	writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

function field(path: string, name: string): number {
	const line = readFileSync(path, "utf8").match(
		new RegExp(`^${name}:\\s+(\\d+) kB`, "m"),
	);
	return Number(line?.[1]) * KILOBYTE;
}

/**
 * What of V8's heap is in use, without what came with Node's snapshot: objects, arrays and texts that the program made;
 * and as `code` bytecode, machine code and what they refer to.
 */
export function heapBytes() {
	let objects = 0;
	let code = 0;
	for (const {
		space_name: name,
		space_used_size,
	} of getHeapSpaceStatistics()) {
		if (name.startsWith("read_only")) continue;
		if (/code|trusted/.test(name)) code += space_used_size;
		else objects += space_used_size;
	}
	return { objects, code };
}

/** Collects everything that is not used any more. The processes of rows run with --expose-gc. */
export function collectGarbage(): void {
	if (globalThis.gc === undefined)
		throw new TypeError("start Node with --expose-gc");
	// A second collection frees what finalizers released in the first.
	globalThis.gc();
	globalThis.gc();
}

/** Makes a directory that goes with this process. */
export function temporaryDirectory(): string {
	const path = mkdtempSync(join(tmpdir(), "snakepit-bench-"));
	process.on("exit", () => rmSync(path, { recursive: true, force: true }));
	return path;
}
