import { join } from "node:path";
import type { Seat } from "../adapter.ts";
import type { ResolvedOptions } from "../options.ts";
import type { RunId } from "../run-id.ts";

/** The seat of one incarnation; only its directory and its name differ from the one before. */
export function seatFor(
	index: number,
	incarnation: string,
	runId: RunId,
	runDirectory: string,
	options: ResolvedOptions,
): Seat {
	// A short name: the path of a socket has a limit of about 100 bytes.
	const directory = incarnation.slice(incarnation.lastIndexOf("-") + 1);
	return {
		pool: options.name,
		index,
		seats: options.size.max,
		workerId: `${options.name}-${index}`,
		incarnation,
		runId,
		directory: join(runDirectory, directory),
		callsPerWorker: options.callsPerWorker,
		startTimeoutMs: options.start.timeoutMs,
	};
}
