import type { ReloadablePool } from "../../contract/adapter.ts";
import type { Timer } from "../../contract/clock.ts";
import { InputError } from "../../contract/errors.ts";
import type { RecycleReason, RetireReason } from "../../contract/events.ts";
import type { CloseManner } from "../../contract/run-and-worker-states.ts";
import type { World } from "../../contract/world.ts";
import type { ResolvedOptions } from "../../options/pool-options.ts";
import { backoffMs } from "../../worker/restarts.ts";
import type { Worker } from "../../worker/worker.ts";
import { asStartError } from "../../worker/worker-errors.ts";
import type { WorkerStarter } from "../../worker/worker-starter.ts";
import type { Calls } from "../calls/calls.ts";
import { workersUsage } from "../observe/statistics.ts";
import type { SessionTable } from "../placement/session-table.ts";
import type { PoolSize } from "./sizing.ts";
import type { SlotOwner, SlotStarts } from "./slot-starts.ts";
import { type Slot, type SlotTable, workerIdOf } from "./slot-table.ts";

/** The workers that are replaced. */
interface ReplacedSet extends SlotOwner {
	/** Whether the pool still starts workers. */
	readonly isOpen: boolean;
	/** Every worker that is not gone, those included that are replaced already and leave. */
	workers(): readonly Worker[];
}

interface ReplacerDependencies {
	readonly options: ResolvedOptions;
	readonly size: Readonly<PoolSize>;
	readonly world: World;
	readonly slots: SlotTable;
	readonly starter: WorkerStarter;
	readonly starts: SlotStarts;
	readonly owner: ReplacedSet;
	readonly calls: Calls;
	readonly sessions: SessionTable;
	/** The next worker is forked from another preloaded parent, if from any. */
	readonly renewParent: () => void;
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

interface Pause {
	/** In a row. */
	readonly failures: number;
	/** On the monotonic clock. */
	readonly untilMs: number;
}

/**
 * Gives the slots of workers to others: of those that are worn, on request, and when their program has changed. The
 * successor is ready before the old worker is asked to leave, or with `stop_first` started when the old one is gone.
 */
export class Replacer implements ReloadablePool {
	readonly #dependencies: ReplacerDependencies;
	/** By successor, whom it replaces and why. */
	readonly #successions = new WeakMap<
		Worker,
		{ readonly worker: Worker; readonly reason: RetireReason }
	>();
	/** Of workers whose successors could not be started. */
	readonly #pauses = new WeakMap<Worker, Pause>();
	/** Workers that are replaced or too many, but needed by sessions. */
	readonly #needed = new Map<Worker, RetireReason>();
	readonly #requested = new Map<Slot, Replacement>();
	readonly #restarts = new Map<Slot, Promise<void>>();
	#roll: Roll | undefined;
	/** Whether a worker that is worn leaves its place empty: the next one that is worn waits, or all would be gone at once. */
	#isOneMissing = false;
	#timer: Timer | undefined;

	constructor(dependencies: ReplacerDependencies) {
		this.#dependencies = dependencies;
	}

	// Workers that are worn or idle:

	/** Looks from time to time. */
	watch(): void {
		const { world, options } = this.#dependencies;
		this.#timer = world.clock.after(options.recycle.checkIntervalMs, () => {
			// First: a listener of what is reported may close the pool.
			this.watch();
			this.retireUnneeded();
			this.#look();
			this.#retireIdle();
		});
	}

	stop(): void {
		this.#timer?.cancel();
	}

	#look(): void {
		const ready = this.#dependencies.owner
			.workers()
			.filter((worker) => worker.state === "ready");
		const residentBytes = this.#residentBytes(ready);
		for (const worker of ready)
			this.judge(worker, residentBytes.get(worker.ref.incarnation));
	}

	/** Has it replaced if it is worn. */
	judge(worker: Worker, residentBytes?: number): void {
		const { taken, cancelledInRow, leniency } = worker.calls;
		const reason = judgeWear(
			{
				ageMs: worker.readyMs,
				calls: taken,
				cancelled: cancelledInRow / leniency,
				residentBytes,
			},
			this.#dependencies.options.recycle,
		);
		if (reason !== undefined) this.#worn(worker, reason);
	}

	/** Of their whole groups, by incarnation; none without a limit. */
	#residentBytes(workers: readonly Worker[]): ReadonlyMap<string, number> {
		const { options, world } = this.#dependencies;
		if (!Number.isFinite(options.recycle.aboveResidentBytes)) return new Map();
		try {
			return new Map(
				workersUsage(workers, world.host).map(
					({ incarnation, residentBytes }) => [incarnation, residentBytes],
				),
			);
		} catch {
			return new Map(); // The process table cannot be read now; it can be at the next look.
		}
	}

	/** It shall be replaced, unless a session needs it. */
	#worn(worker: Worker, reason: RecycleReason): void {
		const { owner, sessions } = this.#dependencies;
		if (owner.isOpen && !sessions.needs(worker.ref.incarnation))
			this.#replace(worker, reason);
	}

	#retireIdle(): void {
		const { options, size, world, sessions, owner } = this.#dependencies;
		const all = owner.workers().filter(({ state }) => state === "ready");
		let ready = all.length;
		for (const worker of all) {
			if (ready <= size.min) return;
			if (worker.calls.attempts.length > 0) continue;
			if (world.clock.now() - worker.freeSinceMs < options.size.idleMs)
				continue;
			if (sessions.needs(worker.ref.incarnation)) continue;
			ready--;
			worker.retire("idle");
		}
	}

	// One worker after another on a slot:

	/**
	 * Begins to replace a worker, unless that is under way or it leaves by itself. One that is worn is worn at every call
	 * and every look: where its successor could not be started, the next one waits as a lost worker does.
	 */
	#replace(worker: Worker, reason: RetireReason): void {
		const { slots, starter, starts, owner } = this.#dependencies;
		const slot = slots.occupiedBy(worker);
		if (slot?.state.kind !== "occupied") return;
		if (slot.state.successor !== undefined || worker.state !== "ready") return;
		if (this.isReplaced(worker)) return;
		if (this.#stopsFirst) {
			this.#stop(slot, worker, reason);
			return;
		}
		if (reason !== "requested" && this.#waits(worker)) return;
		const successor = owner.addWorker(slot);
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
	get #stopsFirst(): boolean {
		return this.#dependencies.options.recycle.order === "stop_first";
	}

	/** It is missed when it is gone, and another started on its slot. */
	#stop(slot: Slot, worker: Worker, reason: RetireReason): void {
		const { starts } = this.#dependencies;
		if (reason !== "requested") {
			if (this.#isOneMissing) return;
			this.#isOneMissing = true;
			const there = (): void => {
				this.#isOneMissing = false;
			};
			void worker.gone.then(() => starts.of(slot)).then(there, there);
		}
		this.retire(worker, reason);
	}

	/** A worker has started: if it is a successor it takes the slot, and the one before it leaves. */
	succeeded(slot: Slot, successor: Worker): void {
		const { slots } = this.#dependencies;
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
		this.retire(worker, reason);
	}

	#waits(worker: Worker): boolean {
		const { untilMs = 0 } = this.#pauses.get(worker) ?? {};
		return this.#dependencies.world.clock.now() < untilMs;
	}

	#pause(worker: Worker): void {
		const { options, world } = this.#dependencies;
		const { backoffMs: firstMs, maxBackoffMs } = options.start;
		const failures = (this.#pauses.get(worker)?.failures ?? 0) + 1;
		const pauseMs = backoffMs(
			...([failures + 1, firstMs, maxBackoffMs] as const),
			world.random.fraction(),
		);
		const untilMs = world.clock.now() + pauseMs;
		this.#pauses.set(worker, { failures, untilMs });
	}

	// Workers that leave when no session needs them:

	/** Whether its slot has another worker or is being removed. */
	isReplaced(worker: Worker): boolean {
		return this.#needed.has(worker);
	}

	/** It is retired when no session needs it any more. */
	retire(worker: Worker, reason: RetireReason): void {
		const { calls, sessions } = this.#dependencies;
		if (!sessions.needs(worker.ref.incarnation)) {
			worker.retire(reason);
			return;
		}
		this.#needed.set(worker, reason);
		calls.reserveForSessions(worker);
	}

	/** Retires those that no session needs any more. */
	retireUnneeded(): void {
		const { sessions } = this.#dependencies;
		for (const [worker, reason] of this.#needed) {
			if (sessions.needs(worker.ref.incarnation)) continue;
			this.#needed.delete(worker);
			worker.retire(reason);
		}
	}

	/** It is gone. */
	forget(worker: Worker): void {
		this.#needed.delete(worker);
	}

	// On request, whatever state the worker is in:

	/** @throws InputError `WORKER_NOT_FOUND`. */
	slotOf(workerId: string): Slot {
		const { options, slots } = this.#dependencies;
		const pool = options.name;
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
			for (const { force } of this.#requested.values()) force(by);
		}
		return underWay.done;
	}

	/**
	 * Replaces the worker of a slot, unless another is on its way already.
	 *
	 * @throws SnakepitError when the other one could not be started; the worker stays then.
	 */
	recycle(slot: Slot, manner: CloseManner, by: string): Promise<void> {
		const replacement = this.#requested.get(slot) ?? this.#begin(slot);
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
		const { slots, owner } = this.#dependencies;
		const asked = slots.all.flatMap((slot) => {
			const worker = workerIn(slot);
			return worker === undefined ? [] : [{ slot, worker }];
		});
		try {
			for (const { slot, worker } of asked) {
				if (!owner.isOpen) return;
				if (workerIn(slot) === worker || this.#requested.has(slot))
					await this.recycle(slot, roll.manner, roll.by);
			}
		} finally {
			this.#roll = undefined;
		}
	}

	#begin(slot: Slot): Replacement {
		const { starts } = this.#dependencies;
		const old = this.#workersOf(slot).filter(
			({ state }) => state !== "starting",
		);
		if (slot.state.kind === "occupied")
			this.#replace(slot.state.worker, "requested");
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
				this.#requested.delete(slot);
			}
		};
		const replacement = { done: replace(), force: forced.resolve };
		this.#requested.set(slot, replacement);
		return replacement;
	}

	async #restart(slot: Slot, by: string): Promise<void> {
		const { slots, starts, owner } = this.#dependencies;
		starts.renewBudget();
		const old = this.#workersOf(slot);
		const start = starts.of(slot);
		for (const worker of old)
			worker.condemn("restarted", `it was restarted by ${by}`);
		await Promise.allSettled([start, ...old.map(({ gone }) => gone)]);
		// A pool that opens starts it again by itself.
		if (!owner.isOpen) return await starts.of(slot);
		slot.failures = 0;
		starts.endPause(slot);
		const isThere = slots.at(slot.index) === slot && slot.index < slots.max;
		const isFree = isThere && slot.state.kind === "empty";
		const started = isFree ? starts.start(slot) : starts.of(slot);
		// Others may have waited for the budget.
		owner.fill();
		await started;
	}

	#workersOf({ index }: Slot): readonly Worker[] {
		return this.#dependencies.owner
			.workers()
			.filter(({ slot }) => slot.index === index);
	}

	// When the program has changed:

	after(ms: number, action: () => void): { cancel(): void } {
		return this.#dependencies.world.clock.after(ms, action);
	}

	async reload(
		files: readonly string[],
		parent: "kept" | "renewed",
	): Promise<Error | undefined> {
		const { options, world, owner, renewParent } = this.#dependencies;
		const { clock, host, emit } = world;
		const pool = options.name;
		if (!owner.isOpen) return undefined;
		const begunMs = clock.now();
		// Nothing else may hold the program open until it is done.
		const releaseHost = host.keepAlive();
		const about = (): {
			wallMs: number;
			pool: string;
			files: typeof files;
		} => ({
			...{ wallMs: clock.wall(), pool, files },
		});
		try {
			if (parent === "renewed") renewParent();
			await this.#replaceAll();
			const durationMs = clock.now() - begunMs;
			if (owner.isOpen) emit({ type: "pool.reloaded", ...about(), durationMs });
			return undefined;
		} catch (thrown) {
			const error = asStartError(thrown);
			if (owner.isOpen) emit({ type: "pool.reload_failed", ...about(), error });
			return error;
		} finally {
			releaseHost();
		}
	}

	async #replaceAll(): Promise<void> {
		const { slots, size, starts } = this.#dependencies;
		starts.renewBudget();
		for (const slot of slots.all) {
			slot.failures = 0;
			starts.endPause(slot);
		}
		const [first, ...others] = slots.all.filter(
			({ state, index }) => state.kind !== "empty" || index < size.min,
		);
		// What the first one cannot load, the others cannot either.
		if (first !== undefined) await this.#reload(first);
		await Promise.all(others.map((slot) => this.#reload(slot)));
	}

	async #reload(slot: Slot): Promise<void> {
		const { slots, starts, owner } = this.#dependencies;
		// One that is starting may have loaded what there was before.
		await starts.of(slot)?.catch(() => {});
		if (!owner.isOpen) return;
		if (slot.state.kind === "empty") {
			if (slots.hasRoomOn(slot)) await starts.start(slot);
			return;
		}
		if (slot.state.kind !== "occupied") return;
		const { worker } = slot.state;
		this.#replace(worker, "requested");
		if (this.#stopsFirst) await worker.gone;
		await starts.of(slot);
	}
}

/** More are shown as a range. */
const MOST_IDS = 20;

function workerIn({ state }: Slot): Worker | undefined {
	return state.kind === "starting" || state.kind === "occupied"
		? state.worker
		: undefined;
}

/** How worn a worker is. */
export interface Wear {
	readonly ageMs: number;
	readonly calls: number;
	/** In a row, as a share of the leniency that it has. */
	readonly cancelled: number;
	/** Of its whole process group, in bytes; `undefined` when it was not measured. */
	readonly residentBytes: number | undefined;
}

export interface WearLimits {
	readonly afterMs: number;
	readonly afterCalls: number;
	readonly aboveResidentBytes: number;
	readonly afterCancels: number;
}

/** Why a worker should be replaced, or `undefined` when it should not. */
export function judgeWear(
	wear: Wear,
	limits: WearLimits,
): RecycleReason | undefined {
	if (wear.calls >= limits.afterCalls) return "calls";
	if (wear.ageMs >= limits.afterMs) return "age";
	if (wear.cancelled >= limits.afterCancels) return "cancels";
	if (
		wear.residentBytes !== undefined &&
		wear.residentBytes > limits.aboveResidentBytes
	)
		return "resident_memory";
	return undefined;
}
