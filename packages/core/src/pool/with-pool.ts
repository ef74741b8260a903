import type { PoolOptions } from "../options.ts";
import { createPool } from "./create-pool.ts";
import type { Pool } from "./pool.ts";
import type { ToolMap, UntypedTools } from "./tools.ts";

/**
 * Runs a script with a pool: its workers are ready before `action`, and nothing
 * of them is left when this resolves. What `action` throws is thrown on, so that
 * an exit code stays right. `action` says what the tools are, by its parameter:
 * `withPool(options, async (pool: Pool<Tools>) => …)`.
 *
 * @throws as `createPool`, and whatever `action` throws.
 */
export async function withPool<Result, Tools extends ToolMap = UntypedTools>(
	options: PoolOptions,
	action: (pool: Pool<Tools>) => Promise<Result> | Result,
): Promise<Result> {
	await using pool = await createPool<Tools>(options);
	return await action(pool);
}
