import type { WorkerUsage } from "@snakepit/core/instrument";

/** Processor time of one slot over its incarnations: a sum that never falls. */
export class CpuClock {
	/** Of those that are gone. */
	#goneMs = 0;
	/** By incarnation: a worker and the one that warms up to replace it share a slot. */
	readonly #livingMs = new Map<string, number>();

	/** Takes a sample; @returns milliseconds since the slot was first seen. */
	advance(
		sample: readonly Pick<WorkerUsage, "incarnation" | "cpuTimeMs">[],
	): number {
		for (const [incarnation, lastMs] of this.#livingMs) {
			if (sample.some((each) => each.incarnation === incarnation)) continue;
			this.#livingMs.delete(incarnation);
			this.#goneMs += lastMs;
		}
		let sum = this.#goneMs;
		for (const { incarnation, cpuTimeMs } of sample) {
			// A child that ended takes its time with it.
			const ms = Math.max(cpuTimeMs, this.#livingMs.get(incarnation) ?? 0);
			this.#livingMs.set(incarnation, ms);
			sum += ms;
		}
		return sum;
	}
}
