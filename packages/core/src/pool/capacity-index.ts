/** What the index looks at. */
export interface Loaded {
	readonly callsRunning: number;
}

/**
 * The workers that can take one more call, by how many they run. Choosing costs
 * as many steps as there are calls per worker, whatever the number of workers.
 */
export class CapacityIndex<Worker extends Loaded> {
	readonly #byLoad: Set<Worker>[] = [];
	readonly #loadOf = new Map<Worker, number>();

	get size(): number {
		return this.#loadOf.size;
	}

	/** Adds a worker, or notes its present load. */
	put(worker: Worker): void {
		const load = worker.callsRunning;
		const before = this.#loadOf.get(worker);
		if (before === load) return;
		if (before !== undefined) this.remove(worker);
		this.#loadOf.set(worker, load);
		let bucket = this.#byLoad[load];
		if (bucket === undefined) {
			bucket = new Set();
			this.#byLoad[load] = bucket;
		}
		bucket.add(worker);
	}

	remove(worker: Worker): void {
		const load = this.#loadOf.get(worker);
		if (load === undefined) return;
		this.#loadOf.delete(worker);
		this.#byLoad[load]?.delete(worker);
	}

	/** The least loaded worker; among equals the one that has waited longest. */
	leastLoaded(): Worker | undefined {
		for (const bucket of this.#byLoad) {
			for (const worker of bucket ?? []) return worker;
		}
		return undefined;
	}
}
