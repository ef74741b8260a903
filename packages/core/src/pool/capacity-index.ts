/**
 * The workers that can take one more call, by how many they have. Choosing costs
 * as many steps as there may be of these, whatever the number of workers.
 */
export class CapacityIndex<Worker> {
	readonly #byLoad: Set<Worker>[] = [];
	readonly #loadOf = new Map<Worker, number>();

	get size(): number {
		return this.#loadOf.size;
	}

	has(worker: Worker): boolean {
		return this.#loadOf.has(worker);
	}

	/** Adds a worker, or notes its present load. */
	put(worker: Worker, load: number): void {
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
