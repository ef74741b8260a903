import { join } from "node:path";
import type { WorkerSlot } from "../../adapter.ts";
import type { ResolvedOptions } from "../../options.ts";
import type { RunId } from "../../run-id.ts";

/** The private directories of a run; workers have one of their own in each. */
export interface RunDirectories {
	readonly directory: string;
	/** In shared memory, where there is some. */
	readonly shared: string | undefined;
}

/** The slot of one incarnation; only its directories and its name differ from the one before. */
export function workerSlotFor(
	index: number,
	slots: number,
	incarnation: string,
	runId: RunId,
	runDirectories: RunDirectories,
	options: ResolvedOptions,
): WorkerSlot {
	// A short name: the path of a socket has a limit of about 100 bytes.
	const name = incarnation.slice(incarnation.lastIndexOf("-") + 1);
	const { directory, shared } = runDirectories;
	return {
		pool: options.name,
		index,
		slots,
		workerId: workerIdOf(options.name, index),
		incarnation,
		runId,
		directory: join(directory, name),
		sharedDirectory: shared === undefined ? undefined : join(shared, name),
		callsPerWorker: options.callsPerWorker,
		startTimeoutMs: options.start.timeoutMs,
	};
}

/** Stable over the incarnations of a slot. */
export function workerIdOf(pool: string, index: number): string {
	return `${pool}-${index}`;
}
