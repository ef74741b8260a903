import type { ObservedPool } from "../contract/instrument.ts";
import type { Afterwards, CloseManner } from "../contract/states.ts";
import type { World } from "../contract/world.ts";
import { type VisiblePool, visiblePool } from "./observe/controlled-pool.ts";
import { workersUsage } from "./observe/statistics.ts";
import type { Pool } from "./pool.ts";
import { type PoolParts, poolParts } from "./pool-parts.ts";
import type { PoolSetting } from "./pool-setting.ts";
import { WorkerPool } from "./worker-pool.ts";

/** A pool as its users hold it, and its life: only its owner opens it, and ends it with the program. */
export interface OwnedPool {
	readonly pool: Pool;
	readonly life: OwnedLife;
	readonly visible: VisiblePool;
}

/** A pool from its opening to its end. */
export interface OwnedLife {
	/** Prepares the adapter and starts the minimum of workers; ends everything again when that fails. */
	open(): Promise<void>;
	close(
		manner: CloseManner,
		drainMs?: number,
		afterwards?: Afterwards,
	): Promise<void>;
	/** Kills every worker in this very turn. */
	killNow(): void;
}

/** Makes a pool that is not opened yet. */
export function makePool(setting: PoolSetting): OwnedPool {
	const parts = poolParts(setting);
	const pool = new WorkerPool(setting, parts);
	setting.instrumentation?.watch(observed(pool, parts, setting.world));
	const visible = visiblePool(pool, setting, parts);
	return { pool, life: parts.life, visible };
}

/** A pool as its instruments see it. */
function observed(
	pool: Pick<Pool, "name" | "runId" | "statistics">,
	{ workerSet }: PoolParts,
	{ host }: World,
): ObservedPool {
	const { name, runId } = pool;
	return {
		name,
		runId,
		look: () => {
			const { workers, calls, sessions, registry } = pool.statistics();
			const { waiting, running } = calls;
			const { commits, commitMs, unwritten } = registry;
			return {
				...{ workers, waiting, running, sessions },
				...{ commits, commitMs, unwritten },
			};
		},
		usage: () => workersUsage(workerSet.workers(), host),
	};
}
