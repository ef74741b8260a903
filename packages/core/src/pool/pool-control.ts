import { OptionsError } from "../contract/errors.ts";
import type { CloseManner } from "../contract/run-and-worker-states.ts";
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
import type { PoolInternals } from "./pool-internals.ts";
import type { PoolLife } from "./pool-life.ts";

/** Who controls a pool. */
export interface ControlOptions {
	/** Who requests it, for the event and the ledger. @default "program" */
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

/** Changes a pool that is open. Each change is an event that says who asked for it. */
export class PoolControl {
	readonly #internals: PoolInternals;
	readonly #life: PoolLife;

	constructor(internals: PoolInternals, life: PoolLife) {
		this.#internals = internals;
		this.#life = life;
	}

	async recycle(target: string, options: ReplaceOptions = {}): Promise<void> {
		const at = "pool.recycle";
		checkOptions(at, options, REPLACE_CHECKS);
		const { hub, workerSet } = this.#internals;
		const { replacer } = workerSet;
		const { manner = CONTROL_DEFAULTS.manner } = options;
		const about = this.#begin(at, options);
		const slot = target === "all" ? undefined : replacer.slotOf(target);
		const recycled = outbox.during(() => {
			hub.emit({ type: "pool.recycle_requested", ...about, target, manner });
			return slot === undefined
				? replacer.recycleAll(manner, about.by)
				: replacer.recycle(slot, manner, about.by);
		});
		await this.#whileOpen(at, recycled);
	}

	async restart(workerId: string, options: ControlOptions = {}): Promise<void> {
		const at = "pool.restart";
		checkOptions(at, options, CONTROL_CHECKS);
		const { hub, workerSet } = this.#internals;
		const { replacer } = workerSet;
		const about = this.#begin(at, options);
		const slot = replacer.slotOf(workerId);
		const restarted = outbox.during(() => {
			hub.emit({ type: "pool.restart_requested", ...about, workerId });
			return replacer.restart(slot, about.by);
		});
		await this.#whileOpen(at, restarted);
	}

	pause(options: ControlOptions = {}): void {
		checkOptions("pool.pause", options, CONTROL_CHECKS);
		const { calls, hub } = this.#internals;
		const about = this.#begin("pool.pause", options);
		if (calls.placement.isPaused) return;
		outbox.during(() => {
			calls.pause();
			const { waiting } = calls.placement;
			const { running } = calls.outstanding;
			hub.emit({ type: "pool.paused", ...about, waiting, running });
		});
	}

	resume(options: ControlOptions = {}): void {
		checkOptions("pool.resume", options, CONTROL_CHECKS);
		this.#begin("pool.resume", options);
		this.#life.resume(options.by ?? CONTROL_DEFAULTS.by);
	}

	resize(asked: NewSize, options: ControlOptions = {}): void {
		checkOptions("pool.resize", asked, SIZE_CHECKS);
		checkOptions("pool.resize", options, CONTROL_CHECKS);
		const { size, hub, workerSet } = this.#internals;
		const about = this.#begin("pool.resize", options);
		const { min = size.min, max = size.max } = asked;
		if (min > max)
			throw new OptionsError({
				code: "INVALID_OPTION",
				message: `pool.resize: "min" (${min}) must not be greater than "max" (${max}). A bound that you leave out keeps its value (min ${size.min}, max ${size.max}).`,
			});
		if (min === size.min && max === size.max) return;
		const before = { ...size };
		outbox.during(() => {
			hub.emit({ type: "pool.resized", ...about, min, max, before });
			workerSet.resize({ min, max });
		});
	}

	/** @throws QueueError `POOL_CLOSED`. */
	#begin(at: string, { by = CONTROL_DEFAULTS.by }: ControlOptions) {
		const { options, world } = this.#internals;
		if (this.#life.isClosing) throw poolClosed(options.name, at);
		return { wallMs: world.clock.wall(), pool: options.name, by };
	}

	async #whileOpen(at: string, change: Promise<void>): Promise<void> {
		const { options, world } = this.#internals;
		// Nothing else may hold the program open until it is done.
		const releaseHost = world.host.keepAlive();
		const [outcome] = await Promise.allSettled([change]);
		releaseHost();
		if (this.#life.isClosing) throw poolClosed(options.name, at);
		if (outcome.status === "rejected") throw outcome.reason;
	}
}

/** How a pool is closed, or all pools of a run. */
export interface CloseOptions extends ControlOptions {
	/** How long running and waiting calls may still take; `stop.drainMs` by default. A later close can shorten that. */
	readonly drainMs?: number | undefined;
	/** `"gentle"` lets calls end and asks workers to leave, `"forced"` kills immediately. @default "gentle" */
	readonly manner?: CloseManner | undefined;
}

export const CLOSE_DEFAULTS = { manner: "gentle" } as const;

export const CLOSE_CHECKS: Readonly<Record<keyof CloseOptions, Check>> = {
	...CONTROL_CHECKS,
	drainMs: optional(milliseconds(0)),
	manner: optional(oneOf("gentle", "forced")),
};

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function checkCloseOptions(at: string, options: CloseOptions): void {
	checkOptions(at, options, CLOSE_CHECKS);
}
