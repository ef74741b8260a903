import type { ReloadablePool } from "../../contract/adapter.ts";
import type { Clock } from "../../contract/clock.ts";
import type { SnakepitEvent } from "../../contract/events.ts";
import type { ProcessHost } from "../../contract/world.ts";
import { asStartError } from "../../worker/worker-errors.ts";
import type { PoolSize } from "./sizing.ts";
import type { RestartGovernor, SlotStarts } from "./slot-starts.ts";
import type { Slot, SlotTable } from "./slot-table.ts";
import type { Succession } from "./succession.ts";

export interface ReloadsSetting {
	readonly pool: string;
	readonly size: Readonly<PoolSize>;
	readonly clock: Clock;
	readonly host: Pick<ProcessHost, "keepAlive">;
	readonly emit: (event: SnakepitEvent) => void;
	readonly slots: SlotTable;
	readonly starts: SlotStarts;
	readonly succession: Succession;
	readonly governor: RestartGovernor;
	/** Whether the pool still starts workers. */
	readonly isOpen: () => boolean;
	/** The next worker is forked from another parent. */
	readonly renewParent: () => void;
}

/** Replaces all workers because their program has changed. It waits for no call: old workers end when theirs are finished. */
export class Reloads implements ReloadablePool {
	readonly #setting: ReloadsSetting;

	constructor(setting: ReloadsSetting) {
		this.#setting = setting;
	}

	after(ms: number, action: () => void): { cancel(): void } {
		return this.#setting.clock.after(ms, action);
	}

	async reload(
		files: readonly string[],
		parent: "kept" | "renewed",
	): Promise<Error | undefined> {
		const { pool, clock, host, emit, isOpen, renewParent } = this.#setting;
		if (!isOpen()) return undefined;
		const begunMs = clock.now();
		// Nothing else may hold the program open until it is done.
		const endHold = host.keepAlive();
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
			if (isOpen()) emit({ type: "pool.reloaded", ...about(), durationMs });
			return undefined;
		} catch (thrown) {
			const error = asStartError(thrown);
			if (isOpen()) emit({ type: "pool.reload_failed", ...about(), error });
			return error;
		} finally {
			endHold();
		}
	}

	async #replaceAll(): Promise<void> {
		const { slots, size, starts, governor } = this.#setting;
		governor.clear();
		for (const slot of slots.all) {
			slot.failures = 0;
			starts.endPause(slot);
		}
		const [first, ...others] = slots.all.filter(
			({ state, index }) => state.kind !== "empty" || index < size.min,
		);
		// What the first one cannot load, the others cannot either.
		if (first !== undefined) await this.#replace(first);
		await Promise.all(others.map((slot) => this.#replace(slot)));
	}

	async #replace(slot: Slot): Promise<void> {
		const { slots, starts, succession, isOpen } = this.#setting;
		// One that is starting may have loaded what there was before.
		await starts.of(slot)?.catch(() => {});
		if (!isOpen()) return;
		if (slot.state.kind === "empty") {
			if (slots.hasRoomOn(slot)) await starts.start(slot);
			return;
		}
		if (slot.state.kind !== "occupied") return;
		const { worker } = slot.state;
		succession.begin(worker, "requested");
		if (succession.stopsFirst) await worker.gone;
		await starts.of(slot);
	}
}
