import type { Figures, Pace } from "../case.ts";
import { percentile } from "./percentile.ts";

/** One call after the other, and what each took. Figures: p50_us, p99_us, host_cpu_us. */
export async function measureLatency(
	call: () => Promise<unknown>,
	{ warmUpMs, measureMs }: Pace,
): Promise<Figures> {
	await repeat(call, warmUpMs, () => {});
	const samples: number[] = [];
	const before = process.cpuUsage();
	await repeat(call, measureMs, (ms) => samples.push(ms));
	const { user, system } = process.cpuUsage(before);
	const sorted = Float64Array.from(samples);
	return {
		p50_us: percentile(sorted, 50) * 1000,
		p99_us: percentile(sorted, 99) * 1000,
		host_cpu_us: (user + system) / samples.length,
	};
}

async function repeat(
	call: () => Promise<unknown>,
	ms: number,
	took: (ms: number) => void,
): Promise<void> {
	const end = performance.now() + ms;
	for (let now = performance.now(); now < end; ) {
		await call();
		const after = performance.now();
		took(after - now);
		now = after;
	}
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
