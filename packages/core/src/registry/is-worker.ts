import type { Reservation } from "../contract/process-registry.ts";

/** What stands beside the workers of a pool, by the end of its name in the ledger. */
export const BESIDE_WORKERS = ["preload", "companion"] as const;

/** Whether a row is a worker or a job, and not the preloaded parent or the companion of a pool. */
export function isWorker({
	pool,
	workerId,
}: Pick<Reservation, "pool" | "workerId">): boolean {
	return !BESIDE_WORKERS.some((kind) => workerId === `${pool}-${kind}`);
}
