import type { StartError } from "../errors.ts";
import { HeartbeatRounds } from "../heartbeat/heartbeat-rounds.ts";
import type { ResolvedOptions } from "../options.ts";
import { OrphanSweep } from "../process/orphan-sweep.ts";
import { backoffMs } from "../worker/backoff.ts";
import { asStartError } from "../worker/start-errors.ts";
import { Worker } from "../worker/worker.ts";
import type { WorkerEnding, WorkerListener } from "../worker/worker-parts.ts";
import type { WorkerStarter } from "../worker/worker-starter.ts";
import type { World } from "../world.ts";
import type { Calls } from "./calls.ts";
import { Recycler } from "./recycler.ts";
import { RestartGovernor } from "./restart-governor.ts";
import type { SessionTable } from "./session-table.ts";
import { workersToStart } from "./sizing.ts";
import {
	failuresAfter,
	isStarting,
	type Slot,
	SlotTable,
	stateLeftBy,
} from "./slot-table.ts";
import { StartsUnderWay } from "./starts-under-way.ts";
import { ReplacedWorkers, Succession } from "./succession.ts";
import { type RunDirectories, workerSlotFor } from "./worker-slot.ts";

export interface WorkerSetSetting {
	readonly options: ResolvedOptions;
	readonly world: World;
	readonly starter: WorkerStarter;
	/** Where the directories of the workers are made. */
	readonly runDirectories: RunDirectories;
	/** What the workers run. */
	readonly calls: Calls;
	readonly sessions: SessionTable;
}

/** With no worker at all, calls wait for this many failed starts in a row, and not for ever. */
const HOPELESS_FAILURES = 3;

/**
 * The workers of one pool: as many as there should be, each on its slot, worn
 * ones replaced, dead ones started again within the budget.
 */
export class WorkerSet implements WorkerListener {
	readonly #setting: WorkerSetSetting;
	readonly #slots: SlotTable;
	readonly #workers = new Set<Worker>();
	readonly #starts = new StartsUnderWay();
	readonly #sweep: OrphanSweep;
	readonly #governor: RestartGovernor;
	readonly #recycler: Recycler;
	readonly #replaced: ReplacedWorkers;
	readonly #succession: Succession;
	readonly #rounds: HeartbeatRounds;
	#failuresInARow = 0;
	#phase: "opening" | "open" | "closing" = "opening";

	constructor(setting: WorkerSetSetting) {
		this.#setting = setting;
		const { options, world } = setting;
		this.#sweep = new OrphanSweep(world);
		this.#governor = new RestartGovernor({
			pool: options.name,
			options: options.start,
			clock: world.clock,
			emit: world.emit,
			onAllowance: () => this.fill(),
		});
		this.#recycler = new Recycler({
			options,
			clock: world.clock,
			host: world.host,
			workers: () => this.workers(),
			sessions: setting.sessions,
			onWorn: (worker, reason) => {
				if (this.#phase === "open") this.#succession.begin(worker, reason);
			},
			onLook: () => this.#replaced.retireUnneeded(),
		});
		this.#replaced = new ReplacedWorkers(setting.sessions, setting.calls);
		this.#rounds = new HeartbeatRounds(world.clock);
		this.#slots = new SlotTable(options.size.max);
		this.#succession = new Succession({
			slots: this.#slots,
			starter: setting.starter,
			replaced: this.#replaced,
			hire: (slot) => this.#hire(slot),
			onFailed: (...start) => this.#startFailed(...start),
			onBegun: (start) => this.#starts.add(start),
		});
	}

	/** Every worker that is not gone. */
	workers(): readonly Worker[] {
		return [...this.#workers];
	}
	/** How many workers were started again after a failure. */
	get restarts(): number {
		return this.#governor.granted;
	}

	/**
	 * Starts the minimum. One that cannot be started is the caller's to know, not
	 * to be tried again.
	 *
	 * @throws StartError of the first worker that failed; the others go on until `close`.
	 */
	async open(): Promise<void> {
		const slots = this.#slots.all.slice(0, this.#setting.options.size.min);
		if (this.#phase === "closing") return;
		await Promise.all(slots.map((slot) => this.#start(slot)));
		if (this.#isClosing()) return;
		this.#phase = "open";
		this.#recycler.watch();
		this.fill();
	}

	#isClosing(): boolean {
		return this.#phase === "closing";
	}

	/** Starts what is missing. */
	fill(): void {
		if (this.#phase !== "open" || !this.#slots.hasEmpty) return;
		const { options, calls } = this.#setting;
		let missing = workersToStart({
			min: options.size.min,
			max: options.size.max,
			occupied: this.#slots.taken,
			starting: this.#slots.count("starting"),
			waitingCalls: calls.scheduler.waiting,
			callsPerWorker: options.callsPerWorker,
		});
		for (const slot of this.#slots.all) {
			if (missing <= 0) return;
			if (slot.state.kind === "backing_off") missing--; // It is on its way already.
			if (slot.state.kind !== "empty") continue;
			missing--;
			this.#refill(slot);
		}
	}

	/** Ends every worker, gently or at once. Resolves when all are gone. A second call hurries those that are left. */
	async close(manner: "gentle" | "forced"): Promise<void> {
		this.#phase = "closing";
		this.#recycler.stop();
		this.#governor.stop();
		for (const slot of this.#slots.all) {
			if (slot.state.kind !== "backing_off") continue;
			slot.state.timer.cancel();
			this.#slots.put(slot, { kind: "empty" });
		}
		const workers = this.workers();
		for (const worker of workers) {
			if (manner === "gentle") worker.retire("closed");
			else worker.condemn("closed", "its pool is closed");
		}
		await Promise.all(workers.map((worker) => worker.gone));
		// A start ends with its worker, and may wait for its last words a little longer.
		await this.#starts.over();
		this.#sweep.finish();
	}

	/** Kills every worker's group in this very turn. */
	killNow(): void {
		this.#phase = "closing";
		for (const worker of this.#workers) worker.killNow();
	}

	// What workers report:

	capacityOffered(worker: Worker): void {
		this.#setting.calls.serve(worker);
		this.#recycler.offered(worker);
	}

	capacityWithdrawn(worker: Worker): void {
		this.#setting.calls.scheduler.withdraw(worker);
	}

	released(worker: Worker, ending: WorkerEnding): void {
		const { calls, sessions } = this.#setting;
		const { incarnation } = worker.ref;
		const slot = this.#slots.at(worker.slot.index);
		this.#dismiss(worker);
		slot.previous = incarnation;
		const left = stateLeftBy(slot, worker, ending);
		if (left !== undefined) {
			slot.failures = failuresAfter(slot.failures, ending);
			this.#slots.put(slot, left);
		}
		sessions.processGone(incarnation);
		calls.workerGone(worker);
		if (left !== undefined) this.fill();
	}

	/** Starts an empty slot again: at once, after a pause, or when the budget allows. */
	#refill(slot: Slot): void {
		const { options, world, calls } = this.#setting;
		if (slot.failures > 0) {
			const refused = this.#governor.take();
			if (refused !== undefined) {
				if (this.#slots.taken === 0) calls.failWaiting(refused);
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
			this.#startAgain(slot);
			return;
		}
		const timer = world.clock.after(pauseMs, () => this.#startAgain(slot));
		this.#slots.put(slot, { kind: "backing_off", timer });
	}

	#startAgain(slot: Slot): void {
		// Its failure is reported as an event and counted.
		this.#start(slot).catch(() => {});
	}

	#start(slot: Slot): Promise<void> {
		const start = this.#bring(slot);
		this.#starts.add(start);
		return start;
	}

	async #bring(slot: Slot): Promise<void> {
		const worker = this.#hire(slot);
		this.#slots.put(slot, { kind: "starting", worker });
		try {
			await this.#setting.starter.start(
				worker,
				slot.failures + 1,
				slot.previous,
			);
		} catch (error) {
			await this.#startFailed(slot, worker, asStartError(error));
			throw error;
		}
		this.#failuresInARow = 0;
		// It may be gone again by now: then its release came before this turn.
		if (isStarting(slot, worker))
			this.#slots.put(slot, { kind: "occupied", worker, successor: undefined });
	}

	async #startFailed(
		slot: Slot,
		worker: Worker,
		error: StartError,
	): Promise<void> {
		const { world, calls } = this.#setting;
		slot.failures++;
		this.#failuresInARow++;
		if (worker.pid === undefined) {
			this.#dismiss(worker);
			worker.neverSpawned();
		}
		await worker.gone;
		if (isStarting(slot, worker)) this.#slots.put(slot, { kind: "empty" });
		world.emit({
			type: "worker.start_failed",
			wallMs: world.clock.wall(),
			...worker.ref,
			error,
		});
		const isEmpty = this.#slots.count("occupied") === 0;
		if (isEmpty && this.#failuresInARow >= HOPELESS_FAILURES)
			calls.failWaiting(error);
		this.fill();
	}

	/** Makes a worker for a slot, without a process yet. */
	#hire(slot: Slot): Worker {
		const { options, world, runDirectories } = this.#setting;
		const { registry } = world;
		const workerSlot = workerSlotFor(
			slot.index,
			registry.nextIncarnation(),
			registry.runId,
			runDirectories,
			options,
		);
		const worker = new Worker(workerSlot, options, world, this, this.#rounds);
		this.#workers.add(worker);
		return worker;
	}

	#dismiss(worker: Worker): void {
		this.#workers.delete(worker);
		this.#replaced.forget(worker);
		this.#recycler.forget(worker);
		this.#sweep.noteEnded(worker.ref.incarnation);
	}
}
