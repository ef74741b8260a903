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

/** So many calls under way all the time; how many are answered a second. */
export async function measureThroughput(
	call: () => Promise<unknown>,
	inFlight: number,
	{ warmUpMs, measureMs }: Pace,
): Promise<number> {
	await keepGoing(call, inFlight, warmUpMs);
	return await keepGoing(call, inFlight, measureMs);
}

async function keepGoing(
	call: () => Promise<unknown>,
	inFlight: number,
	ms: number,
): Promise<number> {
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
	return (answered * 1000) / (performance.now() - begin);
}
