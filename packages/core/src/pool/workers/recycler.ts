import type { Clock, Timer } from "../../contract/clock.ts";
import type { RecycleReason } from "../../contract/events.ts";
import type { ProcessHost } from "../../contract/world.ts";
import type { ResolvedOptions } from "../../options/pool-options.ts";
import type { Worker } from "../../worker/worker.ts";
import { workersUsage } from "../observe/statistics.ts";
import type { SessionTable } from "../placement/session-table.ts";
import type { PoolSize } from "./sizing.ts";

export interface RecyclerSetting {
	readonly options: ResolvedOptions;
	readonly size: Readonly<PoolSize>;
	readonly clock: Clock;
	readonly host: ProcessHost;
	readonly workers: () => readonly Worker[];
	readonly sessions: SessionTable;
	/** Called at every look. */
	readonly onLook: () => void;
	readonly onWorn: (worker: Worker, reason: RecycleReason) => void;
}

/** Looks for workers that are worn or have nothing to do. */
export class Recycler {
	readonly #setting: RecyclerSetting;
	#timer: Timer | undefined;

	constructor(setting: RecyclerSetting) {
		this.#setting = setting;
	}

	/** Looks from time to time. */
	watch(): void {
		const { clock, options } = this.#setting;
		this.#timer = clock.after(options.recycle.checkIntervalMs, () => {
			// First: a listener of what is reported may close the pool.
			this.watch();
			this.#setting.onLook();
			this.#look();
			this.#retireIdle();
		});
	}

	stop(): void {
		this.#timer?.cancel();
	}

	#look(): void {
		const ready = this.#setting
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
			this.#setting.options.recycle,
		);
		if (reason !== undefined) this.#worn(worker, reason);
	}

	/** Of their whole groups, by incarnation; none without a limit. */
	#residentBytes(workers: readonly Worker[]): ReadonlyMap<string, number> {
		const { options, host } = this.#setting;
		if (!Number.isFinite(options.recycle.aboveResidentBytes)) return new Map();
		try {
			return new Map(
				workersUsage(workers, host).map(({ incarnation, residentBytes }) => [
					incarnation,
					residentBytes,
				]),
			);
		} catch {
			return new Map(); // The process table cannot be read now; it can be at the next look.
		}
	}

	/** It shall be replaced, unless a session needs it. */
	#worn(worker: Worker, reason: RecycleReason): void {
		if (this.#setting.sessions.needs(worker.ref.incarnation)) return;
		this.#setting.onWorn(worker, reason);
	}

	#retireIdle(): void {
		const { options, size, clock, sessions, workers } = this.#setting;
		const all = workers().filter((worker) => worker.state === "ready");
		let ready = all.length;
		for (const worker of all) {
			if (ready <= size.min) return;
			if (worker.calls.attempts.length > 0) continue;
			if (clock.now() - worker.freeSinceMs < options.size.idleMs) continue;
			if (sessions.needs(worker.ref.incarnation)) continue;
			ready--;
			worker.retire("idle");
		}
	}
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
