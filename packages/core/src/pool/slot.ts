import type { Worker } from "../worker/worker.ts";
import type { Timer } from "../world.ts";

/** What a seat holds. */
export type SlotState =
	| { readonly kind: "empty" }
	/** Waits before it is started again. */
	| { readonly kind: "backing_off"; readonly timer: Timer }
	| { readonly kind: "starting"; readonly worker: Worker }
	| {
			readonly kind: "occupied";
			readonly worker: Worker /** Warms up to take its place. */;
			readonly successor: Worker | undefined;
	  };

/** One seat of the pool over its incarnations. */
export interface Slot {
	readonly index: number;
	state: SlotState;
	/** Starts and short lives in a row that failed. */
	failures: number;
	/** The incarnation before this one. */
	previous: string | undefined;
}

/** Whether a worker holds the seat or is on its way to it. */
export function isTaken(slot: Slot): boolean {
	return slot.state.kind === "starting" || slot.state.kind === "occupied";
}
