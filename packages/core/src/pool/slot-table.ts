import type { Worker } from "../worker/worker.ts";
import { isTaken, type Slot, type SlotState } from "./slot.ts";

/** Every slot of a pool, and what is known of all of them without looking at each. */
export class SlotTable {
	readonly all: readonly Slot[];
	/** Looked at for every call that has to wait. */
	#empty: number;

	constructor(count: number) {
		this.all = Array.from({ length: count }, (_, index) => ({
			index,
			state: { kind: "empty" },
			failures: 0,
			previous: undefined,
		}));
		this.#empty = count;
	}

	at(index: number): Slot {
		const slot = this.all[index];
		if (slot === undefined) throw new RangeError(`there is no slot ${index}`);
		return slot;
	}

	get hasEmpty(): boolean {
		return this.#empty > 0;
	}

	/** How many are not free. */
	get taken(): number {
		return this.all.filter(isTaken).length;
	}

	count(kind: SlotState["kind"]): number {
		return this.all.filter(({ state }) => state.kind === kind).length;
	}

	put(slot: Slot, state: SlotState): void {
		this.#empty +=
			Number(state.kind === "empty") - Number(slot.state.kind === "empty");
		slot.state = state;
	}

	/** The slot that this worker has, once it is ready. */
	occupiedBy(worker: Worker): Slot | undefined {
		return this.all.find(
			({ state }) => state.kind === "occupied" && state.worker === worker,
		);
	}
}
