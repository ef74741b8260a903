import { InputError } from "../../contract/errors.ts";
import type { CloseManner } from "../../contract/states.ts";
import type { Worker } from "../../worker/worker.ts";
import type { RestartGovernor, SlotStarts } from "./slot-starts.ts";
import { type Slot, type SlotTable, workerIdOf } from "./slot-table.ts";
import type { Succession } from "./succession.ts";

export interface ReplacementsSetting {
	readonly pool: string;
	readonly slots: SlotTable;
	readonly starts: SlotStarts;
	readonly succession: Succession;
	readonly governor: RestartGovernor;
	/** Whether the pool still starts workers. */
	readonly isOpen: () => boolean;
	/** Every worker of a slot that is not gone, those included that are replaced already and leave. */
	readonly workersOf: (slot: Slot) => readonly Worker[];
	/** Starts what is missing. */
	readonly fill: () => void;
}

/** A worker that is being replaced on request. */
interface Replacement {
	/** Resolves when the old worker is gone and the new one is ready. */
	readonly done: Promise<void>;
	/** Has the old worker killed when the new one is ready. */
	readonly force: (by: string) => void;
}

/** All workers that are being replaced, one after the other. */
interface Roll {
	readonly done: Promise<void>;
	manner: CloseManner;
	by: string;
}

/** Replaces workers on request, whatever state they are in. */
export class Replacements {
	readonly #setting: ReplacementsSetting;
	readonly #replaced = new Map<Slot, Replacement>();
	readonly #restarts = new Map<Slot, Promise<void>>();
	#roll: Roll | undefined;

	constructor(setting: ReplacementsSetting) {
		this.#setting = setting;
	}

	/** @throws InputError `WORKER_NOT_FOUND`. */
	slotOf(workerId: string): Slot {
		const { pool, slots } = this.#setting;
		const slot = slots.all.find(
			({ index }) => workerIdOf(pool, index) === workerId,
		);
		if (slot !== undefined) return slot;
		const ids = slots.all.map(({ index }) => workerIdOf(pool, index));
		throw new InputError({
			code: "WORKER_NOT_FOUND",
			ran: "no",
			message: `Pool ${pool} has no worker "${workerId}". It has ${ids.length > MOST_IDS ? `${ids[0]} to ${ids.at(-1)}` : ids.join(", ")}.`,
		});
	}

	/** Replaces every worker that there is now, one after the other. */
	recycleAll(manner: CloseManner, by: string): Promise<void> {
		const underWay = this.#roll;
		if (underWay === undefined) {
			const { promise, resolve } = Promise.withResolvers<void>();
			this.#roll = { done: promise, manner, by };
			resolve(this.#recycleAll(this.#roll));
			return promise;
		}
		if (manner === "forced") {
			Object.assign(underWay, { manner, by });
			for (const { force } of this.#replaced.values()) force(by);
		}
		return underWay.done;
	}

	/**
	 * Replaces the worker of a slot, unless another is on its way already.
	 *
	 * @throws SnakepitError when the other one could not be started; the worker stays then.
	 */
	recycle(slot: Slot, manner: CloseManner, by: string): Promise<void> {
		const replacement = this.#replaced.get(slot) ?? this.#replace(slot);
		if (manner === "forced") replacement.force(by);
		return replacement.done;
	}

	/**
	 * Kills the worker of a slot and starts another, without a pause and with a full restart budget.
	 *
	 * @throws SnakepitError when the other one could not be started.
	 */
	restart(slot: Slot, by: string): Promise<void> {
		const underWay = this.#restarts.get(slot);
		if (underWay !== undefined) return underWay;
		const restart = this.#restart(slot, by).finally(() =>
			this.#restarts.delete(slot),
		);
		this.#restarts.set(slot, restart);
		return restart;
	}

	async #recycleAll(roll: Roll): Promise<void> {
		const { slots, isOpen } = this.#setting;
		const asked = slots.all.flatMap((slot) => {
			const worker = workerIn(slot);
			return worker === undefined ? [] : [{ slot, worker }];
		});
		try {
			for (const { slot, worker } of asked) {
				if (!isOpen()) return;
				if (workerIn(slot) === worker || this.#replaced.has(slot))
					await this.recycle(slot, roll.manner, roll.by);
			}
		} finally {
			this.#roll = undefined;
		}
	}

	#replace(slot: Slot): Replacement {
		const { succession, starts, workersOf } = this.#setting;
		const old = workersOf(slot).filter(({ state }) => state !== "starting");
		if (slot.state.kind === "occupied")
			succession.begin(slot.state.worker, "requested");
		const started = starts.of(slot) ?? Promise.resolve();
		const forced = Promise.withResolvers<string>();
		const kill = async (): Promise<void> => {
			const [by] = await Promise.all([forced.promise, started]);
			for (const worker of old)
				worker.condemn("recycled", `it was recycled by ${by}`);
		};
		kill().catch(() => {}); // Without a new worker the old one stays: `done` rejects.
		const replace = async (): Promise<void> => {
			try {
				await started;
				await Promise.all(old.map(({ gone }) => gone));
				// In the place of one that had to leave, another may have been started.
				await starts.of(slot);
			} finally {
				this.#replaced.delete(slot);
			}
		};
		const replacement = { done: replace(), force: forced.resolve };
		this.#replaced.set(slot, replacement);
		return replacement;
	}

	async #restart(slot: Slot, by: string): Promise<void> {
		const { slots, starts, governor, isOpen, fill, workersOf } = this.#setting;
		governor.clear();
		const old = workersOf(slot);
		const start = starts.of(slot);
		for (const worker of old)
			worker.condemn("restarted", `it was restarted by ${by}`);
		await Promise.allSettled([start, ...old.map(({ gone }) => gone)]);
		// A pool that opens starts it again by itself.
		if (!isOpen()) return await starts.of(slot);
		slot.failures = 0;
		starts.endPause(slot);
		const isThere = slots.at(slot.index) === slot && slot.index < slots.max;
		const isFree = isThere && slot.state.kind === "empty";
		const started = isFree ? starts.start(slot) : starts.of(slot);
		// Others may have waited for the budget.
		fill();
		await started;
	}
}

/** More are shown as a range. */
const MOST_IDS = 20;

function workerIn({ state }: Slot): Worker | undefined {
	return state.kind === "starting" || state.kind === "occupied"
		? state.worker
		: undefined;
}
