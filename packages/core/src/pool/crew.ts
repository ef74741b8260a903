import { join } from "node:path";
import type { Seat } from "../adapter.ts";
import { StartError } from "../errors.ts";
import type { RecycleReason } from "../events.ts";
import type { ResolvedOptions } from "../options.ts";
import { backoffMs } from "../worker/backoff.ts";
import {
	FULL_BUDGET,
	type RestartBudget,
	spendRestart,
} from "../worker/restart-budget.ts";
import { StragglerSweep } from "../worker/straggler-sweep.ts";
import { Worker, type WorkerEnding } from "../worker/worker.ts";
import type { WorkerStarter } from "../worker/worker-starter.ts";
import type { Timer, World } from "../world.ts";
import { judgeWear } from "./recycling.ts";
import { workersToStart } from "./sizing.ts";
import { isTaken, type Slot } from "./slot.ts";

export interface CrewSetting {
	readonly options: ResolvedOptions;
	readonly world: World;
	readonly starter: WorkerStarter;
	/** Where the directories of the workers are made. */
	readonly runDirectory: string;
	/** Calls that wait now. */
	readonly waitingCalls: () => number;
	/** Whether something still needs this very process. */
	readonly isNeeded: (incarnation: string) => boolean;
	readonly onOffered: (worker: Worker) => void;
	readonly onWithdrawn: (worker: Worker) => void;
	readonly onReleased: (worker: Worker) => void;
	/** There is no worker, and starting one failed again and again: those who wait should know. */
	readonly onHopeless: (error: StartError) => void;
}

/** A worker that was ready this long has proved itself: its end is no crash loop. */
const PROVEN_MS = 10_000;
/** With no worker at all, calls wait for this many failed starts in a row, and not for ever. */
const HOPELESS_FAILURES = 3;

/**
 * The workers of one pool: as many as there should be, each on its seat, worn
 * ones replaced, dead ones started again within the budget.
 */
export class Crew {
	readonly #setting: CrewSetting;
	readonly #slots: readonly Slot[];
	readonly #workers = new Set<Worker>();
	readonly #idleSince = new Map<Worker, number>();
	readonly #sweep: StragglerSweep;
	#budget: RestartBudget = FULL_BUDGET;
	#failuresInARow = 0;
	#restarts = 0;
	#watch: Timer | undefined;
	#budgetTimer: Timer | undefined;
	#phase: "opening" | "open" | "closing" = "opening";

	constructor(setting: CrewSetting) {
		this.#setting = setting;
		this.#sweep = new StragglerSweep(setting.world);
		this.#slots = Array.from(
			{ length: setting.options.size.max },
			(_, index) => ({
				index,
				state: { kind: "empty" },
				failures: 0,
				previous: undefined,
			}),
		);
	}

	/** Every worker that is not gone. */
	workers(): readonly Worker[] {
		return [...this.#workers];
	}
	/** How many dead workers were replaced. */
	get restarts(): number {
		return this.#restarts;
	}

	/**
	 * Starts the minimum. One that cannot be started is the caller's to know, not
	 * to be tried again.
	 *
	 * @throws StartError of the first worker that failed, after the others were ended.
	 */
	async open(): Promise<void> {
		const slots = this.#slots.slice(0, this.#setting.options.size.min);
		await Promise.all(slots.map((slot) => this.#start(slot)));
		this.#phase = "open";
		this.#watchWear();
		this.fill();
	}

	/** Starts what is missing. */
	fill(): void {
		if (this.#phase !== "open") return;
		const { options, waitingCalls } = this.#setting;
		let missing = workersToStart({
			min: options.size.min,
			max: options.size.max,
			occupied: this.#slots.filter(isTaken).length,
			starting: this.#slots.filter((slot) => slot.state.kind === "starting")
				.length,
			waitingCalls: waitingCalls(),
			callsPerWorker: options.callsPerWorker,
		});
		for (const slot of this.#slots) {
			if (missing <= 0) return;
			if (slot.state.kind === "backing_off") missing--; // It is on its way already.
			if (slot.state.kind !== "empty") continue;
			missing--;
			this.#refill(slot);
		}
	}

	/** A worker finished a call: it may be worn now. */
	worked(worker: Worker): void {
		this.#idleSince.delete(worker);
		if (worker.callsTaken >= this.#setting.options.recycle.afterCalls)
			this.#recycle(worker, "calls");
	}

	/** Every worker goes: gently, or at once. Resolves when all are gone. */
	async close(manner: "gentle" | "forced"): Promise<void> {
		this.#phase = "closing";
		this.#watch?.cancel();
		this.#budgetTimer?.cancel();
		for (const slot of this.#slots) {
			if (slot.state.kind === "backing_off") {
				slot.state.timer.cancel();
				slot.state = { kind: "empty" };
			}
		}
		const workers = this.workers();
		for (const worker of workers) {
			if (manner === "gentle") worker.retire("closed");
			else worker.condemn("closed", "its pool is closed");
		}
		await Promise.all(workers.map((worker) => worker.gone));
		this.#sweep.finish();
	}

	/** Kills every worker's group in this very turn. */
	killNow(): void {
		this.#phase = "closing";
		for (const worker of this.#workers) worker.killNow();
	}

	/** Starts an empty seat again: at once, after a pause, or when the budget allows. */
	#refill(slot: Slot): void {
		const { options, world } = this.#setting;
		const { start } = options;
		if (slot.failures > 0) {
			const verdict = spendRestart(
				this.#budget,
				world.clock.now(),
				start.maxRestarts,
				start.restartWindowMs,
			);
			this.#budget = verdict.budget;
			if (verdict.kind === "spent") return this.#budgetSpent(verdict.retryInMs);
			this.#restarts++;
		}
		const pauseMs = backoffMs(
			slot.failures,
			start.backoffMs,
			start.maxBackoffMs,
			world.random.fraction(),
		);
		if (pauseMs === 0) return this.#startAgain(slot);
		const timer = world.clock.after(pauseMs, () => {
			slot.state = { kind: "empty" };
			this.#startAgain(slot);
		});
		slot.state = { kind: "backing_off", timer };
	}

	#startAgain(slot: Slot): void {
		// Its failure is told as an event and counted; here it needs no second hearing.
		this.#start(slot).catch(() => {});
	}

	async #start(slot: Slot): Promise<void> {
		const worker = this.#hire(slot);
		slot.state = { kind: "starting", worker };
		try {
			await this.#setting.starter.start(
				worker,
				slot.failures + 1,
				slot.previous,
			);
			slot.state = { kind: "occupied", worker, successor: undefined };
			this.#failuresInARow = 0;
		} catch (error) {
			await this.#startFailed(slot, worker, asStartError(error));
			throw error;
		}
		if (this.#phase === "closing") worker.retire("closed");
	}

	async #startFailed(
		slot: Slot,
		worker: Worker,
		error: StartError,
	): Promise<void> {
		slot.failures++;
		this.#failuresInARow++;
		if (worker.pid === undefined) this.#dismiss(worker);
		else await worker.gone;
		if (slot.state.kind === "starting" && slot.state.worker === worker)
			slot.state = { kind: "empty" };
		const { world, onHopeless } = this.#setting;
		world.emit({
			type: "worker.start_failed",
			wallMs: world.clock.wall(),
			...worker.ref,
			error,
		});
		if (
			this.#failuresInARow >= HOPELESS_FAILURES &&
			!this.#slots.some((each) => each.state.kind === "occupied")
		)
			onHopeless(error);
		this.fill();
	}

	/** Makes a worker for a seat, without a process yet. */
	#hire(slot: Slot): Worker {
		const { options, world, runDirectory } = this.#setting;
		const incarnation = world.registry.nextIncarnation();
		const seat: Seat = {
			pool: options.name,
			index: slot.index,
			seats: options.size.max,
			workerId: `${options.name}-${slot.index}`,
			incarnation,
			runId: world.registry.runId,
			directory: join(
				runDirectory,
				incarnation.slice(incarnation.lastIndexOf("-") + 1),
			),
			callsPerWorker: options.callsPerWorker,
			startTimeoutMs: options.start.timeoutMs,
		};
		const worker = new Worker(seat, options, world, {
			capacityOffered: (offered) => {
				this.#idleSince.set(offered, world.clock.now());
				this.#setting.onOffered(offered);
			},
			capacityWithdrawn: (withdrawn) => this.#setting.onWithdrawn(withdrawn),
			released: (released, ending) => this.#released(slot, released, ending),
		});
		this.#workers.add(worker);
		return worker;
	}

	#dismiss(worker: Worker): void {
		this.#workers.delete(worker);
		this.#idleSince.delete(worker);
		this.#sweep.noteEnded(worker.ref.incarnation);
	}

	#released(slot: Slot, worker: Worker, ending: WorkerEnding): void {
		this.#dismiss(worker);
		slot.previous = worker.ref.incarnation;
		const { state } = slot;
		const held = state.kind === "occupied" && state.worker === worker;
		if (held) {
			const expected =
				ending.reason === "recycled" || ending.reason === "closed";
			slot.failures = expected
				? 0
				: ending.readyMs >= PROVEN_MS
					? 1
					: slot.failures + 1;
			// A successor that warms up takes the seat when it is ready.
			slot.state =
				state.successor === undefined
					? { kind: "empty" }
					: { kind: "starting", worker: state.successor };
		}
		this.#setting.onReleased(worker);
		if (held) this.fill();
	}

	#budgetSpent(retryInMs: number): void {
		if (this.#budgetTimer !== undefined) return;
		const { options, world, onHopeless } = this.#setting;
		const { maxRestarts, restartWindowMs } = options.start;
		world.emit({
			type: "pool.restart_budget_spent",
			wallMs: world.clock.wall(),
			pool: options.name,
			restarts: maxRestarts,
			windowMs: restartWindowMs,
		});
		this.#budgetTimer = world.clock.after(retryInMs, () => {
			this.#budgetTimer = undefined;
			this.fill();
		});
		if (this.#slots.some(isTaken)) return;
		onHopeless(
			new StartError({
				code: "RESTART_BUDGET_SPENT",
				ran: "no",
				message: `Pool ${options.name} has no worker left: they were restarted ${maxRestarts} times within ${restartWindowMs} ms (start.maxRestarts, start.restartWindowMs) and ended again. The next try is in ${Math.ceil(retryInMs)} ms; look at worker.exited for what they said last.`,
			}),
		);
	}

	/** Looks at age, memory and idleness from time to time. */
	#watchWear(): void {
		const { options, world } = this.#setting;
		this.#watch = world.clock.after(options.recycle.checkIntervalMs, () => {
			for (const worker of this.#workers)
				if (worker.state === "ready") this.#checkWear(worker);
			this.#retireIdle();
			this.#watchWear();
		});
	}

	#checkWear(worker: Worker): void {
		const { options, world } = this.#setting;
		const measured =
			Number.isFinite(options.recycle.aboveResidentBytes) &&
			worker.groupId !== undefined;
		const residentBytes = measured
			? world.host
					.members(worker.groupId)
					.reduce((sum, member) => sum + member.residentBytes, 0)
			: undefined;
		const reason = judgeWear(
			{ ageMs: worker.readyMs, calls: worker.callsTaken, residentBytes },
			options.recycle,
		);
		if (reason !== undefined) this.#recycle(worker, reason);
	}

	/** The replacement is ready before the old one is asked to leave. */
	#recycle(worker: Worker, reason: RecycleReason): void {
		const slot = this.#slots.find(
			(each) => each.state.kind === "occupied" && each.state.worker === worker,
		);
		if (
			this.#phase !== "open" ||
			slot?.state.kind !== "occupied" ||
			slot.state.successor !== undefined
		)
			return;
		if (
			worker.state !== "ready" ||
			this.#setting.isNeeded(worker.ref.incarnation)
		)
			return;
		const successor = this.#hire(slot);
		slot.state = { kind: "occupied", worker, successor };
		this.#setting.starter.start(successor, 1, worker.ref.incarnation).then(
			() => {
				slot.state = {
					kind: "occupied",
					worker: successor,
					successor: undefined,
				};
				slot.previous = worker.ref.incarnation;
				slot.failures = 0;
				worker.retire(reason);
				if (this.#phase === "closing") successor.retire("closed");
			},
			(error: unknown) => {
				if (
					slot.state.kind === "occupied" &&
					slot.state.successor === successor
				)
					slot.state = { kind: "occupied", worker, successor: undefined };
				else if (
					slot.state.kind === "starting" &&
					slot.state.worker === successor
				)
					slot.state = { kind: "empty" };
				return this.#startFailed(slot, successor, asStartError(error));
			},
		);
	}

	#retireIdle(): void {
		const { options, world, isNeeded } = this.#setting;
		let ready = this.#slots.filter(
			(slot) => slot.state.kind === "occupied",
		).length;
		for (const [worker, since] of this.#idleSince) {
			if (ready <= options.size.min) return;
			const idle =
				worker.state === "ready" &&
				worker.callsRunning === 0 &&
				world.clock.now() - since >= options.size.idleMs;
			if (!idle || isNeeded(worker.ref.incarnation)) continue;
			ready--;
			worker.retire("idle");
		}
	}
}

function asStartError(error: unknown): StartError {
	if (error instanceof StartError) return error;
	return new StartError({
		code: "SPAWN_FAILED",
		ran: "no",
		message: `A worker could not be started: ${error instanceof Error ? error.message : String(error)}`,
		cause: error,
	});
}
