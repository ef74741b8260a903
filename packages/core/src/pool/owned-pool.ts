import type { ObservedPool } from "../instrument.ts";
import type { World } from "../world.ts";
import type { Pool } from "./pool-interface.ts";
import type { PoolLife } from "./pool-life.ts";
import { type PoolParts, poolParts } from "./pool-parts.ts";
import type { PoolSetting } from "./pool-setting.ts";
import { workersUsage } from "./statistics.ts";
import type { ToolMap, UntypedTools } from "./tools.ts";
import { WorkerPool } from "./worker-pool.ts";

/** A pool as its users hold it, and its life: only its owner opens it, and ends it with the program. */
export interface OwnedPool<Tools extends ToolMap = UntypedTools> {
	readonly pool: Pool<Tools>;
	readonly life: Pick<PoolLife, "open" | "close" | "killNow">;
}

/** Makes a pool that is not opened yet. */
export function makePool<Tools extends ToolMap = UntypedTools>(
	setting: PoolSetting,
): OwnedPool<Tools> {
	const parts = poolParts(setting);
	const pool = new WorkerPool<Tools>(setting, parts);
	setting.instrumentation?.watch(observed(pool, parts, setting.world));
	return { pool, life: parts.life };
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
