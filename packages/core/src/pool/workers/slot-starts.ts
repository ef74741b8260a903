import type { StartsSnapshot } from "@snakepit/control/server";
import type { Timer } from "../../contract/clock.ts";
import { StartError } from "../../contract/errors.ts";
import type { EndReason } from "../../contract/process-registry.ts";
import { counted } from "../../contract/text.ts";
import type { World } from "../../contract/world.ts";
import type { ResolvedOptions } from "../../options/pool-options.ts";
import { outbox } from "../../outbox.ts";
import {
	backoffMs,
	FULL_BUDGET,
	MOST_FAILED_STARTS,
	type RestartBudget,
	spendRestart,
} from "../../worker/restarts.ts";
import type { Worker } from "../../worker/worker.ts";
import { asStartError } from "../../worker/worker-errors.ts";
import type { WorkerStarter } from "../../worker/worker-starter.ts";
import type { Calls } from "../calls/calls.ts";
import {
	failuresNow,
	isStarting,
	type Slot,
	type SlotTable,
} from "./slot-table.ts";

/** Where the workers of the slots come from. */
export interface SlotOwner {
	/** Makes a worker for a slot, without a process yet. */
	addWorker(slot: Slot): Worker;
	/** A worker that never had a process is gone. */
	removeWorker(worker: Worker): void;
	/** Starts what is missing. */
	fill(): void;
}

interface SlotStartsDependencies {
	readonly options: Pick<ResolvedOptions, "name" | "start">;
	readonly world: Pick<World, "clock" | "random" | "emit">;
	readonly starter: WorkerStarter;
	readonly slots: SlotTable;
	readonly owner: SlotOwner;
	readonly calls: Pick<Calls, "failWaiting">;
}

/** Ends of starts that say nothing about the program. */
const NO_FAILURES: readonly (EndReason | undefined)[] = [
	"parent_lost",
	"restarted",
	"recycled",
];

/** Starts workers on their slots, immediately, after a pause, or when the budget allows it again. */
export class SlotStarts {
	readonly #dependencies: SlotStartsDependencies;
	readonly #underWay = new Set<Promise<void>>();
	readonly #latest = new Map<Slot, Promise<void>>();
	#failuresInARow = 0;
	#budget: RestartBudget = FULL_BUDGET;
	#restarts = 0;
	/** Runs until the spent budget allows a restart again, at a moment of the monotonic clock. */
	#budgetTimer: (Timer & { readonly untilMs: number }) | undefined;

	constructor(dependencies: SlotStartsDependencies) {
		this.#dependencies = dependencies;
	}

	/** The latest start on a slot while it is under way. Rejects with its error. */
	of(slot: Slot): Promise<void> | undefined {
		return this.#latest.get(slot);
	}

	/** Resolves when those under way now are over, well or not. */
	async over(): Promise<void> {
		await Promise.allSettled(this.#underWay);
	}

	/** @throws SnakepitError when the worker could not be started. */
	start(slot: Slot): Promise<void> {
		const start = this.#bring(slot);
		this.note(slot, start);
		return start;
	}

	/**
	 * The same while the pool opens: what a restart ended, or a lost guard took along, is started again. The run bounds
	 * that: after some losses it has no guard for a while. What a smaller size ended is not missed.
	 */
	async open(slot: Slot, isWanted: () => boolean): Promise<void> {
		for (;;) {
			const start = this.start(slot);
			const { state } = slot;
			try {
				return await start;
			} catch (error) {
				const cause =
					state.kind === "starting" ? state.worker.cause : undefined;
				if (!NO_FAILURES.includes(cause?.reason) || !isWanted()) throw error;
				if (!this.#dependencies.slots.hasRoomOn(slot)) return;
			}
		}
	}

	/** A start on a slot has begun. */
	note(slot: Slot, start: Promise<void>): void {
		this.#underWay.add(start);
		this.#latest.set(slot, start);
		const forget = () => {
			this.#underWay.delete(start);
			if (this.#latest.get(slot) === start) this.#latest.delete(slot);
		};
		// Its failure is reported as an event and counted.
		start.then(forget, forget);
	}

	/** Starts an empty slot again: immediately, after a pause, or when the budget allows it. */
	refill(slot: Slot): void {
		const { options, world, slots, calls } = this.#dependencies;
		if (slot.failures > 0) {
			const refused = this.#takeRestart();
			if (refused !== undefined) {
				if (slots.taken === 0) calls.failWaiting(refused);
				return;
			}
		}
		const pauseMs = backoffMs(
			slot.failures,
			options.start.backoffMs,
			options.start.maxBackoffMs,
			world.random.fraction(),
		);
		if (pauseMs === 0) {
			void this.start(slot);
			return;
		}
		const timer = world.clock.after(pauseMs, () => {
			slots.put(slot, { kind: "empty" });
			// The pool may have become smaller meanwhile.
			if (slots.hasRoomOn(slot)) void this.start(slot);
		});
		const untilMs = world.clock.now() + pauseMs;
		slots.put(slot, { kind: "backing_off", timer, untilMs });
	}

	/** Ends the pause before the next start on a slot. */
	endPause(slot: Slot): void {
		if (slot.state.kind !== "backing_off") return;
		slot.state.timer.cancel();
		this.#dependencies.slots.put(slot, { kind: "empty" });
	}

	/** A worker could not be started. Resolves when it is gone and that is reported. */
	async failed(slot: Slot, worker: Worker, error: StartError): Promise<void> {
		const { world, slots, owner, calls } = this.#dependencies;
		const isFailure = error.code !== "START_WITHDRAWN";
		if (isFailure) {
			slot.failures++;
			this.#failuresInARow++;
		}
		if (worker.pid === undefined) {
			owner.removeWorker(worker);
			worker.neverSpawned();
		}
		await worker.gone;
		outbox.during(() => {
			if (isStarting(slot, worker)) slots.put(slot, { kind: "empty" });
			world.emit({
				type: "worker.start_failed",
				wallMs: world.clock.wall(),
				...worker.ref,
				error,
			});
			const isEmpty = slots.count("occupied") === 0;
			if (isFailure && isEmpty && this.#failuresInARow >= MOST_FAILED_STARTS)
				calls.failWaiting(error);
			owner.fill();
		});
	}

	/** A worker has started: it takes the slot that it was started for. */
	succeeded(slot: Slot, worker: Worker): void {
		this.#failuresInARow = 0;
		if (isStarting(slot, worker))
			this.#dependencies.slots.put(slot, {
				kind: "occupied",
				worker,
				successor: undefined,
			});
	}

	async #bring(slot: Slot): Promise<void> {
		const { owner, slots, starter } = this.#dependencies;
		const worker = owner.addWorker(slot);
		slots.put(slot, { kind: "starting", worker });
		try {
			await starter.start(worker, slot.failures + 1, slot.previous);
		} catch (error) {
			await this.failed(slot, worker, asStartError(error));
			throw error;
		}
	}

	// The budget of restarts:

	/** How many restarts after a failure were granted in all. */
	get restarts(): number {
		return this.#restarts;
	}

	/** What is left of it, and when the next start is that waits. */
	view(): StartsSnapshot {
		const { options, world, slots } = this.#dependencies;
		const nowMs = world.clock.now();
		const { maxRestarts: max, restartWindowMs: windowMs } = options.start;
		const { spentAt } = this.#budget;
		const pauses = slots.all.flatMap(({ state }) =>
			state.kind === "backing_off" ? [state.untilMs] : [],
		);
		const untilMs = Math.min(...pauses, this.#budgetTimer?.untilMs ?? Infinity);
		return {
			failuresInARow: Math.max(0, ...slots.all.map(failuresNow)),
			budget: {
				spent: spentAt.filter((at) => nowMs - at < windowMs).length,
				...{ max, windowMs },
			},
			next: Number.isFinite(untilMs)
				? {
						inMs: Math.max(0, untilMs - nowMs),
						after: pauses.includes(untilMs) ? "pause" : "budget",
					}
				: null,
		};
	}

	/** Grants the whole budget again. */
	renewBudget(): void {
		this.#budget = FULL_BUDGET;
		this.stop();
	}

	/** Waits for the budget no longer. */
	stop(): void {
		this.#budgetTimer?.cancel();
		this.#budgetTimer = undefined;
	}

	/** Takes one restart; returns why not when there is none left. */
	#takeRestart(): StartError | undefined {
		const { options, owner, world } = this.#dependencies;
		const { clock, emit } = world;
		const pool = options.name;
		const { maxRestarts, restartWindowMs } = options.start;
		const verdict = spendRestart(
			this.#budget,
			clock.now(),
			maxRestarts,
			restartWindowMs,
		);
		this.#budget = verdict.budget;
		if (verdict.kind === "granted") {
			this.#restarts++;
			return undefined;
		}
		if (this.#budgetTimer === undefined) {
			const timer = clock.after(verdict.retryInMs, () => {
				this.#budgetTimer = undefined;
				owner.fill();
			});
			this.#budgetTimer = {
				untilMs: clock.now() + verdict.retryInMs,
				cancel: () => timer.cancel(),
			};
			emit({
				type: "pool.restart_budget_spent",
				wallMs: clock.wall(),
				pool,
				restarts: maxRestarts,
				windowMs: restartWindowMs,
			});
		}
		return new StartError({
			code: "RESTART_BUDGET_SPENT",
			message: `Pool ${pool} has no workers left: they were restarted ${counted(maxRestarts, "time", "times")} within ${restartWindowMs} ms (start.maxRestarts) and ended again. The next try is in ${Math.ceil(verdict.retryInMs)} ms.`,
		});
	}
}
