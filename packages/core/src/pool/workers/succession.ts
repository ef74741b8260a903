import type { RetireReason } from "../../contract/events.ts";
import type { World } from "../../contract/world.ts";
import type { ResolvedOptions } from "../../options/pool-options.ts";
import { backoffMs } from "../../worker/restarts.ts";
import type { Worker } from "../../worker/worker.ts";
import { asStartError } from "../../worker/worker-errors.ts";
import type { WorkerStarter } from "../../worker/worker-starter.ts";
import type { Calls } from "../calls/calls.ts";
import type { SessionTable } from "../placement/session-table.ts";
import type { SlotStarts } from "./slot-starts.ts";
import type { Slot, SlotTable } from "./slot-table.ts";

export interface SuccessionSetting {
	readonly options: ResolvedOptions["start"];
	readonly order: ResolvedOptions["recycle"]["order"];
	readonly world: Pick<World, "clock" | "random">;
	readonly slots: SlotTable;
	readonly starter: WorkerStarter;
	readonly replaced: ReplacedWorkers;
	readonly starts: Pick<SlotStarts, "of" | "note" | "failed">;
	/** Makes a worker for a slot, without a process yet. */
	readonly hire: (slot: Slot) => Worker;
}

/**
 * Gives the slot of a worker that still works to another: that one is ready before the old one is asked to leave, or
 * with `stop_first` started when the old one is gone.
 */
export class Succession {
	readonly #setting: SuccessionSetting;
	/** By successor, whom it replaces and why. */
	readonly #successions = new WeakMap<
		Worker,
		{ readonly worker: Worker; readonly reason: RetireReason }
	>();
	/** Of workers whose successors could not be started. */
	readonly #pauses = new WeakMap<Worker, Pause>();
	/** Whether a worker that is worn leaves its place empty: the next one that is worn waits, or all would be gone at once. */
	#isOneMissing = false;

	constructor(setting: SuccessionSetting) {
		this.#setting = setting;
	}

	/**
	 * Begins to replace a worker, unless that is under way or it leaves by itself. One that is worn is worn at every call
	 * and every look: where its successor could not be started, the next one waits as a lost worker does.
	 */
	begin(worker: Worker, reason: RetireReason): void {
		const { slots, starter, replaced, starts, hire } = this.#setting;
		const slot = slots.occupiedBy(worker);
		if (slot?.state.kind !== "occupied") return;
		if (slot.state.successor !== undefined || worker.state !== "ready") return;
		if (replaced.has(worker)) return;
		if (this.stopsFirst) {
			this.#stop(slot, worker, reason);
			return;
		}
		if (reason !== "requested" && this.#waits(worker)) return;
		const successor = hire(slot);
		if (reason === "cancels")
			successor.calls.leniency = 2 * worker.calls.leniency;
		slots.put(slot, { kind: "occupied", worker, successor });
		this.#successions.set(successor, { worker, reason });
		const start = starter
			.start(successor, 1, worker.ref.incarnation)
			.catch(async (error: unknown) => {
				this.#pause(worker);
				if (slot.state.kind === "occupied" && slot.state.worker === worker)
					slots.put(slot, { kind: "occupied", worker, successor: undefined });
				await starts.failed(slot, successor, asStartError(error));
				throw error;
			});
		starts.note(slot, start);
	}

	/** Whether the old worker is gone before the new one is started. */
	get stopsFirst(): boolean {
		return this.#setting.order === "stop_first";
	}

	/** It is missed when it is gone, and another started on its slot. */
	#stop(slot: Slot, worker: Worker, reason: RetireReason): void {
		const { replaced, starts } = this.#setting;
		if (reason !== "requested") {
			if (this.#isOneMissing) return;
			this.#isOneMissing = true;
			const there = (): void => {
				this.#isOneMissing = false;
			};
			void worker.gone.then(() => starts.of(slot)).then(there, there);
		}
		replaced.add(worker, reason);
	}

	/** A worker has started: if it is a successor it takes the slot, and the one before it leaves. */
	succeeded(slot: Slot, successor: Worker): void {
		const { slots, replaced } = this.#setting;
		const succession = this.#successions.get(successor);
		if (succession === undefined) return;
		// Kept, it would hold the worker before, and that one the one before it: every worker that the slot ever had.
		this.#successions.delete(successor);
		const { worker, reason } = succession;
		slot.previous = worker.ref.incarnation;
		slot.failures = 0;
		slots.put(slot, {
			kind: "occupied",
			worker: successor,
			successor: undefined,
		});
		replaced.add(worker, reason);
	}

	#waits(worker: Worker): boolean {
		const { untilMs = 0 } = this.#pauses.get(worker) ?? {};
		return this.#setting.world.clock.now() < untilMs;
	}

	#pause(worker: Worker): void {
		const { options, world } = this.#setting;
		const failures = (this.#pauses.get(worker)?.failures ?? 0) + 1;
		const pauseMs = backoffMs(
			...([failures + 1, options.backoffMs, options.maxBackoffMs] as const),
			world.random.fraction(),
		);
		const untilMs = world.clock.now() + pauseMs;
		this.#pauses.set(worker, { failures, untilMs });
	}
}

interface Pause {
	/** In a row. */
	readonly failures: number;
	/** On the monotonic clock. */
	readonly untilMs: number;
}

/** Workers that are replaced or too many, but needed by sessions. */
export class ReplacedWorkers {
	readonly #sessions: SessionTable;
	readonly #calls: Calls;
	readonly #workers = new Map<Worker, RetireReason>();

	constructor(sessions: SessionTable, calls: Calls) {
		this.#sessions = sessions;
		this.#calls = calls;
	}

	has(worker: Worker): boolean {
		return this.#workers.has(worker);
	}

	/** It is retired when no session needs it any more. */
	add(worker: Worker, reason: RetireReason): void {
		if (!this.#sessions.needs(worker.ref.incarnation)) {
			worker.retire(reason);
			return;
		}
		this.#workers.set(worker, reason);
		this.#calls.reserveForSessions(worker);
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
