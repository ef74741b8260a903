import type { Clock } from "../contract/clock.ts";
import { OptionsError } from "../contract/errors.ts";
import type { SnakepitEvent } from "../contract/events.ts";
import type { CloseManner } from "../contract/states.ts";
import type { ProcessHost } from "../contract/world.ts";
import {
	type Check,
	checkOptions,
	milliseconds,
	nonEmptyText,
	oneOf,
	optional,
} from "../options/check.ts";
import { SIZE_DEFAULTS } from "../options/pool-options.ts";
import { outbox } from "../outbox.ts";
import { poolClosed } from "./calls/call-errors.ts";
import type { Calls } from "./calls/calls.ts";
import type { PoolLife } from "./pool-life.ts";
import type { PoolSize } from "./workers/sizing.ts";
import type { WorkerSet } from "./workers/worker-set.ts";

/** Who controls a pool. */
export interface ControlOptions {
	/** Who requests it, for the event. @default "program" */
	readonly by?: string | undefined;
}

/** How a worker is replaced. */
export interface ReplaceOptions extends ControlOptions {
	/** `"gentle"` lets the old worker finish its calls, `"forced"` kills it as soon as the new one is ready. @default "gentle" */
	readonly manner?: CloseManner | undefined;
}

/** The new number of workers. A bound that you leave out keeps its value. */
export interface NewSize {
	readonly min?: number | undefined;
	readonly max?: number | undefined;
}

export const CONTROL_DEFAULTS = { by: "program", manner: "gentle" } as const;

export const CONTROL_CHECKS: Readonly<Record<keyof ControlOptions, Check>> = {
	by: optional(nonEmptyText),
};
export const REPLACE_CHECKS: Readonly<Record<keyof ReplaceOptions, Check>> = {
	...CONTROL_CHECKS,
	manner: optional(oneOf("gentle", "forced")),
};
const SIZE_CHECKS: Readonly<Record<keyof NewSize, Check>> = {
	min: optional(SIZE_DEFAULTS.min.check),
	max: optional(SIZE_DEFAULTS.max.check),
};

interface PoolControlSetting {
	readonly pool: string;
	readonly clock: Clock;
	readonly host: ProcessHost;
	readonly size: Readonly<PoolSize>;
	readonly emit: (event: SnakepitEvent) => void;
	readonly calls: Calls;
	readonly workerSet: WorkerSet;
	readonly life: PoolLife;
}

/** Changes a pool that is open. Each change is an event that says who asked for it. */
export class PoolControl {
	readonly #setting: PoolControlSetting;

	constructor(setting: PoolControlSetting) {
		this.#setting = setting;
	}

	async recycle(target: string, options: ReplaceOptions): Promise<void> {
		const at = "pool.recycle";
		checkOptions(at, options, REPLACE_CHECKS);
		const { emit, workerSet } = this.#setting;
		const { replacements } = workerSet;
		const { manner = CONTROL_DEFAULTS.manner } = options;
		const about = this.#begin(at, options);
		const slot = target === "all" ? undefined : replacements.slotOf(target);
		const recycled = outbox.during(() => {
			emit({ type: "pool.recycle_requested", ...about, target, manner });
			return slot === undefined
				? replacements.recycleAll(manner, about.by)
				: replacements.recycle(slot, manner, about.by);
		});
		await this.#whileOpen(at, recycled);
	}

	async restart(workerId: string, options: ControlOptions): Promise<void> {
		const at = "pool.restart";
		checkOptions(at, options, CONTROL_CHECKS);
		const { emit, workerSet } = this.#setting;
		const { replacements } = workerSet;
		const about = this.#begin(at, options);
		const slot = replacements.slotOf(workerId);
		const restarted = outbox.during(() => {
			emit({ type: "pool.restart_requested", ...about, workerId });
			return replacements.restart(slot, about.by);
		});
		await this.#whileOpen(at, restarted);
	}

	pause(options: ControlOptions): void {
		checkOptions("pool.pause", options, CONTROL_CHECKS);
		const { calls, emit } = this.#setting;
		const about = this.#begin("pool.pause", options);
		if (calls.placement.isPaused) return;
		outbox.during(() => {
			calls.pause();
			const { waiting } = calls.placement;
			const { running } = calls.outstanding;
			emit({ type: "pool.paused", ...about, waiting, running });
		});
	}

	resume(options: ControlOptions): void {
		checkOptions("pool.resume", options, CONTROL_CHECKS);
		this.#begin("pool.resume", options);
		this.#setting.life.resume(options.by ?? CONTROL_DEFAULTS.by);
	}

	resize(asked: NewSize, options: ControlOptions): void {
		checkOptions("pool.resize", asked, SIZE_CHECKS);
		checkOptions("pool.resize", options, CONTROL_CHECKS);
		const { size, emit, workerSet } = this.#setting;
		const about = this.#begin("pool.resize", options);
		const { min = size.min, max = size.max } = asked;
		if (min > max)
			throw new OptionsError({
				code: "INVALID_OPTION",
				ran: "no",
				message: `pool.resize: "min" (${min}) must not be greater than "max" (${max}). A bound that you leave out keeps its value (min ${size.min}, max ${size.max}).`,
			});
		if (min === size.min && max === size.max) return;
		const before = { ...size };
		outbox.during(() => {
			emit({ type: "pool.resized", ...about, min, max, before });
			workerSet.resize({ min, max });
		});
	}

	/** @throws QueueError `POOL_CLOSED`. */
	#begin(at: string, { by = CONTROL_DEFAULTS.by }: ControlOptions) {
		const { pool, clock, life } = this.#setting;
		if (life.isClosing) throw poolClosed(pool, at);
		return { wallMs: clock.wall(), pool, by };
	}

	async #whileOpen(at: string, change: Promise<void>): Promise<void> {
		const { pool, life, host } = this.#setting;
		// Nothing else may hold the program open until it is done.
		const endHold = host.keepAlive();
		const [outcome] = await Promise.allSettled([change]);
		endHold();
		if (life.isClosing) throw poolClosed(pool, at);
		if (outcome.status === "rejected") throw outcome.reason;
	}
}

/** How a pool is closed, or all pools of a run. */
export interface CloseOptions {
	/** How long running and waiting calls may still take; `stop.drainMs` by default. A later close can shorten that. */
	readonly drainMs?: number | undefined;
	/** `"gentle"` lets calls end and asks workers to leave, `"forced"` kills at once. @default "gentle" */
	readonly manner?: CloseManner | undefined;
}

export const CLOSE_DEFAULTS = { manner: "gentle" } as const;

export const CLOSE_CHECKS: Readonly<Record<keyof CloseOptions, Check>> = {
	drainMs: optional(milliseconds(0)),
	manner: optional(oneOf("gentle", "forced")),
};

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function checkCloseOptions(at: string, options: CloseOptions): void {
	checkOptions(at, options, CLOSE_CHECKS);
}
