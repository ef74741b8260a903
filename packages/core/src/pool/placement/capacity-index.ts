import { type Arrival, ArrivalList } from "./arrival-list.ts";

/** A worker and where it is in the index. Made once per worker. */
interface Entry<Worker> extends Arrival {
	readonly worker: Worker;
	/** `undefined` while it cannot take a call. */
	load: number | undefined;
	before: this | undefined;
	after: this | undefined;
}

/**
 * The workers that can take one more call, by how many they have. Choosing costs
 * as many steps as there may be of these, whatever the number of workers.
 */
export class CapacityIndex<Worker> {
	readonly #byLoad: ArrivalList<Entry<Worker>>[] = [];
	readonly #entries = new Map<Worker, Entry<Worker>>();
	size = 0;

	has(worker: Worker): boolean {
		return this.#entries.get(worker)?.load !== undefined;
	}

	/** Notes how many calls a worker has; `undefined`: it cannot take another one. */
	put(worker: Worker, load: number | undefined): void {
		let entry = this.#entries.get(worker);
		if (entry === undefined) {
			if (load === undefined) return;
			entry = { worker, load: undefined, before: undefined, after: undefined };
			this.#entries.set(worker, entry);
		}
		if (entry.load === load) return;
		if (entry.load === undefined) this.size++;
		else this.#byLoad[entry.load]?.remove(entry);
		entry.load = load;
		if (load === undefined) {
			this.size--;
			return;
		}
		this.#byLoad[load] ??= new ArrivalList();
		this.#byLoad[load].add(entry);
	}

	/** It is gone. */
	forget(worker: Worker): void {
		this.put(worker, undefined);
		this.#entries.delete(worker);
	}

	/** The least loaded worker; among equals the one that has waited longest. */
	leastLoaded(): Worker | undefined {
		for (const list of this.#byLoad)
			if (list?.first !== undefined) return list.first.worker;
		return undefined;
	}
}
