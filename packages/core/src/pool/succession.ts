import type { StartError } from "../errors.ts";
import type { RecycleReason } from "../pool-events.ts";
import { asStartError } from "../worker/start-errors.ts";
import type { Worker } from "../worker/worker.ts";
import type { WorkerStarter } from "../worker/worker-starter.ts";
import type { Calls } from "./calls.ts";
import type { SessionTable } from "./session-table.ts";
import type { Slot, SlotTable } from "./slot-table.ts";

export interface SuccessionSetting {
	readonly slots: SlotTable;
	readonly starter: WorkerStarter;
	readonly replaced: ReplacedWorkers;
	/** Makes a worker for a slot, without a process yet. */
	readonly hire: (slot: Slot) => Worker;
	/** The successor could not be started. */
	readonly onFailed: (
		slot: Slot,
		successor: Worker,
		error: StartError,
	) => Promise<void>;
	/** Called with each start. */
	readonly onBegun: (start: Promise<void>) => void;
}

/** Gives the slot of a worker that still works to another: that one is ready before the old one is asked to leave. */
export class Succession {
	readonly #setting: SuccessionSetting;

	constructor(setting: SuccessionSetting) {
		this.#setting = setting;
	}

	/** Begins to replace a worker, unless that is under way or it leaves by itself. */
	begin(worker: Worker, reason: RecycleReason): void {
		const { slots, starter, replaced, hire, onFailed, onBegun } = this.#setting;
		const slot = slots.occupiedBy(worker);
		if (slot?.state.kind !== "occupied") return;
		if (slot.state.successor !== undefined || worker.state !== "ready") return;
		const successor = hire(slot);
		slots.put(slot, { kind: "occupied", worker, successor });
		const start = starter.start(successor, 1, worker.ref.incarnation).then(
			() => {
				slot.previous = worker.ref.incarnation;
				slot.failures = 0;
				slots.put(slot, {
					kind: "occupied",
					worker: successor,
					successor: undefined,
				});
				replaced.add(worker, reason);
			},
			(error: unknown) => {
				if (slot.state.kind === "occupied" && slot.state.worker === worker)
					slots.put(slot, { kind: "occupied", worker, successor: undefined });
				return onFailed(slot, successor, asStartError(error));
			},
		);
		onBegun(start);
	}
}

/** Workers that are replaced, but needed by sessions that were bound while the successor warmed up. */
export class ReplacedWorkers {
	readonly #sessions: SessionTable;
	readonly #calls: Calls;
	readonly #workers = new Map<Worker, RecycleReason>();

	constructor(sessions: SessionTable, calls: Calls) {
		this.#sessions = sessions;
		this.#calls = calls;
	}

	/** Its successor has the slot: it is retired when no session needs it any more. */
	add(worker: Worker, reason: RecycleReason): void {
		if (!this.#sessions.needs(worker.ref.incarnation)) {
			worker.retire(reason);
			return;
		}
		this.#workers.set(worker, reason);
		this.#calls.scheduler.reserveForSessions(worker);
	}

	/** Retires those that no session needs any more. */
	retireUnneeded(): void {
		for (const [worker, reason] of this.#workers) {
			if (this.#sessions.needs(worker.ref.incarnation)) continue;
			this.#workers.delete(worker);
			worker.retire(reason);
		}
	}

	/** It is gone. */
	forget(worker: Worker): void {
		this.#workers.delete(worker);
	}
}
