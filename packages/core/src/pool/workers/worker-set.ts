import type { StartsSnapshot } from "@snakepit/control/server";
import type { World } from "../../contract/world.ts";
import { HeartbeatRounds } from "../../heartbeat/heartbeat-monitor.ts";
import type { ResolvedOptions } from "../../options/pool-options.ts";
import { outbox } from "../../outbox.ts";
import { OrphanSweep } from "../../process/orphan-sweep.ts";
import {
	type Survivor,
	survivorsOf,
	type Undying,
} from "../../process/process-end.ts";
import {
	Worker,
	type WorkerEnding,
	type WorkerListener,
} from "../../worker/worker.ts";
import type { WorkerStarter } from "../../worker/worker-starter.ts";
import type { Calls } from "../calls/calls.ts";
import type { SessionTable } from "../placement/session-table.ts";
import { Replacer } from "./replacer.ts";
import {
	type PoolSize,
	surplusWorkers,
	type WorkerUse,
	workersToStart,
} from "./sizing.ts";
import { type SlotOwner, SlotStarts } from "./slot-starts.ts";
import {
	failuresAfter,
	type RunDirectories,
	type Slot,
	type SlotState,
	SlotTable,
	stateLeftBy,
	workerSlotFor,
} from "./slot-table.ts";

interface WorkerSetDependencies {
	readonly options: ResolvedOptions;
	readonly size: PoolSize;
	readonly world: World;
	readonly starter: WorkerStarter;
	/** Where the directories of the workers are made. */
	readonly runDirectories: RunDirectories;
	/** What the workers run. */
	readonly calls: Calls;
	readonly sessions: SessionTable;
	/** The next worker is forked from another preloaded parent, if from any. */
	readonly renewParent: () => void;
}

/**
 * The workers of one pool: as many as there should be, each on its slot, worn
 * ones replaced, dead ones started again within the budget.
 */
export class WorkerSet implements WorkerListener, SlotOwner {
	readonly replacer: Replacer;
	readonly #dependencies: WorkerSetDependencies;
	readonly #slots: SlotTable;
	readonly #workers = new Set<Worker>();
	readonly #starts: SlotStarts;
	readonly #sweep: OrphanSweep;
	/** Workers that SIGKILL did not end. */
	readonly #undying: Undying[] = [];
	readonly #rounds: HeartbeatRounds;
	#phase: "opening" | "open" | "closing" = "opening";

	constructor(dependencies: WorkerSetDependencies) {
		this.#dependencies = dependencies;
		const { size, world } = dependencies;
		this.#sweep = new OrphanSweep(world);
		this.#rounds = new HeartbeatRounds(world.clock);
		this.#slots = new SlotTable(size.max);
		const parts = { ...dependencies, slots: this.#slots, owner: this };
		this.#starts = new SlotStarts(parts);
		this.replacer = new Replacer({ ...parts, starts: this.#starts });
	}

	/** Every worker that is not gone. */
	workers(): readonly Worker[] {
		return [...this.#workers];
	}
	/** How many workers were started again after a failure. */
	get restarts(): number {
		return this.#starts.restarts;
	}
	/** How workers that failed are started again. */
	startsView(): StartsSnapshot {
		return this.#starts.view();
	}

	/**
	 * Starts the minimum. A failed start is reported, not retried.
	 *
	 * @throws StartError of the first worker that failed; the others go on until `close`.
	 */
	async open(): Promise<void> {
		const slots = this.#slots.all.slice(0, this.#dependencies.size.min);
		if (this.#phase === "closing") return;
		await Promise.all(
			slots.map((slot) => this.#starts.open(slot, () => !this.#isClosing())),
		);
		if (this.#isClosing()) return;
		this.#phase = "open";
		this.replacer.watch();
		this.fill();
	}

	/** Whether workers are started and replaced. */
	get isOpen(): boolean {
		return this.#phase === "open";
	}

	#isClosing(): boolean {
		return this.#phase === "closing";
	}

	/** Starts what is missing. */
	fill(): void {
		if (this.#phase !== "open" || !this.#slots.hasEmpty) return;
		outbox.during(() => this.#fill());
	}

	#fill(): void {
		const { options, size, calls } = this.#dependencies;
		let missing = workersToStart({
			...size,
			occupied: this.#slots.taken,
			starting: this.#slots.count("starting"),
			waitingCalls: calls.placement.isPaused ? 0 : calls.placement.waiting,
			callsPerWorker: options.callsPerWorker,
		});
		for (const slot of this.#slots.all) {
			if (missing <= 0) return;
			if (slot.state.kind === "backing_off") missing--; // It is on its way already.
			if (slot.state.kind !== "empty") continue;
			missing--;
			this.#starts.refill(slot);
		}
	}

	/** Has as many workers from now on: starts what is missing, and retires what is too much. */
	resize(size: Readonly<PoolSize>): void {
		Object.assign(this.#dependencies.size, size);
		this.#slots.resize(size.max);
		this.#retireSurplus();
		this.fill();
	}

	#retireSurplus(): void {
		const staying = this.#slots.all.flatMap((slot) => {
			const use = this.#useOf(slot);
			return use === undefined ? [] : [{ ...slot, use }];
		});
		for (const { state } of surplusWorkers(staying, this.#slots.max)) {
			if (state.kind !== "starting" && state.kind !== "occupied") continue;
			if (state.kind === "occupied") state.successor?.retire("resized");
			this.replacer.retire(state.worker, "resized");
		}
	}

	/** `undefined` for a slot without a worker that stays. */
	#useOf({ state }: Slot): WorkerUse | undefined {
		if (state.kind === "starting")
			return state.worker.state === "starting" ? "starting" : undefined;
		if (state.kind !== "occupied") return undefined;
		const { worker } = state;
		if (worker.state !== "ready" || this.replacer.isReplaced(worker))
			return undefined;
		if (this.#dependencies.sessions.needs(worker.ref.incarnation))
			return "in_session";
		return worker.calls.attempts.length > 0 ? "busy" : "idle";
	}

	/** Ends every worker. Resolves when all are gone, with the processes that could not be ended. A second call hurries those that are left. */
	async close(manner: "gentle" | "forced"): Promise<readonly Survivor[]> {
		this.#phase = "closing";
		this.replacer.stop();
		this.#starts.stop();
		for (const slot of [...this.#slots.all]) this.#starts.endPause(slot);
		const workers = this.workers();
		outbox.during(() => {
			for (const worker of workers) {
				if (manner === "gentle") worker.retire("closed");
				else worker.condemn("closed", "its pool is closed");
			}
		});
		await Promise.all(workers.map((worker) => worker.gone));
		// A start ends with its worker, and may wait for its last words a little longer.
		await this.#starts.over();
		const strays = await this.#sweep.settle();
		const { host } = this.#dependencies.world;
		return [...survivorsOf(this.#undying, host), ...strays];
	}

	/** Kills every worker's group in this very turn. */
	killNow(): void {
		this.#phase = "closing";
		for (const worker of this.#workers) worker.killNow();
	}

	// What workers report:

	becameReady(worker: Worker): void {
		const slot = this.#slots.at(worker.slot.index);
		if (slot === undefined) return;
		this.#starts.succeeded(slot, worker);
		this.replacer.succeeded(slot, worker);
	}

	capacityOffered(worker: Worker): void {
		this.#dependencies.calls.serve(worker);
	}

	capacityWithdrawn(worker: Worker): void {
		this.#dependencies.calls.withdraw(worker);
	}

	released(worker: Worker, ending: WorkerEnding): void {
		const { undying } = ending;
		const { workerId } = worker.ref;
		if (undying !== undefined)
			this.#undying.push({ identity: undying, workerId });
		const { calls, sessions } = this.#dependencies;
		const { incarnation } = worker.ref;
		const slot = this.#slots.at(worker.slot.index);
		this.removeWorker(worker);
		// A worker that is replaced may outlive its slot.
		const left =
			slot === undefined ? undefined : this.#leave(slot, worker, ending);
		sessions.processGone(incarnation);
		calls.workerGone(worker);
		if (left !== undefined) this.fill();
	}

	/** Returns what the slot holds now, or `undefined` when the worker did not hold it. */
	#leave(
		slot: Slot,
		worker: Worker,
		ending: WorkerEnding,
	): SlotState | undefined {
		slot.previous = worker.ref.incarnation;
		const left = stateLeftBy(slot, worker, ending);
		if (left === undefined) return undefined;
		slot.failures = failuresAfter(slot.failures, ending);
		this.#slots.put(slot, left);
		return left;
	}

	/** Makes a worker for a slot, without a process yet. */
	addWorker(slot: Slot): Worker {
		const { options, world, runDirectories } = this.#dependencies;
		const { registry } = world;
		const workerSlot = workerSlotFor(
			slot.index,
			this.#slots.all.length,
			registry.nextIncarnation(),
			registry.runId,
			runDirectories,
			options,
		);
		const worker = new Worker(workerSlot, options, world, this, this.#rounds);
		this.#workers.add(worker);
		return worker;
	}

	/** It is gone. */
	removeWorker(worker: Worker): void {
		this.#workers.delete(worker);
		this.replacer.forget(worker);
		this.#sweep.noteEnded(worker.ref.incarnation);
	}
}
