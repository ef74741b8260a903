import { join } from "node:path";
import type { Timer } from "../../contract/clock.ts";
import type { RunId } from "../../contract/identity.ts";
import type { WorkerSlot } from "../../contract/launch.ts";
import type { EndReason } from "../../contract/process-registry.ts";
import type { ResolvedOptions } from "../../options/pool-options.ts";
import { PROVEN_MS } from "../../worker/restarts.ts";
import type { Worker, WorkerEnding } from "../../worker/worker.ts";

/** What a slot holds. */
export type SlotState =
	| { readonly kind: "empty" }
	/** Waits before it is started again, until a moment of the monotonic clock. */
	| {
			readonly kind: "backing_off";
			readonly timer: Timer;
			readonly untilMs: number;
	  }
	| { readonly kind: "starting"; readonly worker: Worker }
	| {
			readonly kind: "occupied";
			readonly worker: Worker /** Warms up to take its place. */;
			readonly successor: Worker | undefined;
	  };

/** One slot of the pool over its incarnations. */
export interface Slot {
	readonly index: number;
	state: SlotState;
	/** Starts and short lives in a row that failed. */
	failures: number;
	/** The incarnation before this one. */
	previous: string | undefined;
}

/** Whether a worker holds the slot or is on its way to it. */
function isInUse(slot: Slot): boolean {
	return slot.state.kind === "starting" || slot.state.kind === "occupied";
}

/** Whether this very worker is on its way to the slot. */
export function isStarting(slot: Slot, worker: Worker): boolean {
	return slot.state.kind === "starting" && slot.state.worker === worker;
}

/** What a slot holds when a worker is gone; `undefined` when that did not hold it. */
export function stateLeftBy(
	slot: Slot,
	worker: Worker,
	ending: WorkerEnding,
): SlotState | undefined {
	const { state } = slot;
	if (state.kind === "occupied" && state.worker === worker) {
		// A successor that warms up takes the slot when it is ready.
		return state.successor === undefined
			? { kind: "empty" }
			: { kind: "starting", worker: state.successor };
	}
	// The slot of a failed start is emptied by what started it.
	return isStarting(slot, worker) && ending.reason !== "start_failed"
		? { kind: "empty" }
		: undefined;
}

/** The end of a companion, or of what had forked it, is not the worker's fault. */
const WANTED: readonly EndReason[] = [
	"recycled",
	"closed",
	"restarted",
	"companion_lost",
	"parent_lost",
];

/** The failures in a row of a slot; none once its worker has proved itself. */
export function failuresNow({ state, failures }: Slot): number {
	const isProven =
		state.kind === "occupied" && state.worker.readyMs >= PROVEN_MS;
	return isProven ? 0 : failures;
}

/** Expected ends wipe the slate clean, an end after a proven life starts a new count. */
export function failuresAfter(before: number, ending: WorkerEnding): number {
	if (WANTED.includes(ending.reason)) return 0;
	return ending.readyMs >= PROVEN_MS ? 1 : before + 1;
}

/** Every slot of a pool, and what is known of all of them without looking at each. */
export class SlotTable {
	readonly #slots: Slot[] = [];
	/** Looked at for every call that has to wait. */
	#empty = 0;
	#max = 0;

	constructor(max: number) {
		this.resize(max);
	}

	/** By index. After the pool was made smaller there may be more than `max`, until their workers are gone. */
	get all(): readonly Slot[] {
		return this.#slots;
	}

	/** How many workers there may be. */
	get max(): number {
		return this.#max;
	}

	resize(max: number): void {
		this.#max = max;
		while (this.#slots.length < max) {
			this.#slots.push({
				index: this.#slots.length,
				state: { kind: "empty" },
				failures: 0,
				previous: undefined,
			});
			this.#empty++;
		}
		this.#dropSurplus();
	}

	at(index: number): Slot | undefined {
		return this.#slots[index];
	}

	/** Whether a worker may be started on this slot: it may have gone with a pool that became smaller, or not be needed. */
	hasRoomOn(slot: Slot): boolean {
		return this.at(slot.index) === slot && this.taken < this.#max;
	}

	get hasEmpty(): boolean {
		return this.#empty > 0;
	}

	/** How many are not free. */
	get taken(): number {
		return this.#slots.filter(isInUse).length;
	}

	count(kind: SlotState["kind"]): number {
		return this.#slots.filter(({ state }) => state.kind === kind).length;
	}

	put(slot: Slot, state: SlotState): void {
		this.#empty +=
			Number(state.kind === "empty") - Number(slot.state.kind === "empty");
		slot.state = state;
		this.#dropSurplus();
	}

	/** The slot that this worker has, once it is ready. */
	occupiedBy(worker: Worker): Slot | undefined {
		return this.#slots.find(
			({ state }) => state.kind === "occupied" && state.worker === worker,
		);
	}

	/** An index is below the number of slots, which adapters divide by: only the last ones can go. */
	#dropSurplus(): void {
		while (
			this.#slots.length > this.#max &&
			this.#slots.at(-1)?.state.kind === "empty"
		) {
			this.#slots.pop();
			this.#empty--;
		}
	}
}

/** The private directories of a run; workers have one of their own in each. */
export interface RunDirectories {
	readonly directory: string;
	/** In shared memory, where there is some. */
	readonly shared: string | undefined;
}

/** The slot of one incarnation; only its directories and its name differ from the one before. */
export function workerSlotFor(
	index: number,
	slots: number,
	incarnation: string,
	runId: RunId,
	runDirectories: RunDirectories,
	options: ResolvedOptions,
): WorkerSlot {
	// A short name: the path of a socket has a limit of about 100 bytes.
	const name = incarnation.slice(incarnation.lastIndexOf("-") + 1);
	const { directory, shared } = runDirectories;
	return {
		pool: options.name,
		index,
		slots,
		workerId: workerIdOf(options.name, index),
		incarnation,
		runId,
		directory: join(directory, name),
		sharedDirectory: shared === undefined ? undefined : join(shared, name),
		callsPerWorker: options.callsPerWorker,
		startTimeoutMs: options.start.timeoutMs,
	};
}

/** Stable over the incarnations of a slot. */
export function workerIdOf(pool: string, index: number): string {
	return `${pool}-${index}`;
}
