import type { Clock } from "../contract/clock.ts";
import { isMarkerOf, type RunId } from "../contract/identity.ts";
import type { ProcessRegistry } from "../contract/process-registry.ts";
import type { ProcessHost } from "../contract/world.ts";

/**
 * A killed process is gone within a millisecond or two; with eight busy programs for
 * each processor it has taken more than half a second. Only one that cannot die makes
 * the exit wait so long.
 */
const PATIENCE_MS = 2_000;
const PAUSE_MS = 1;

export interface ExitParts {
	readonly registry: ProcessRegistry;
	readonly host: ProcessHost;
	readonly clock: Clock;
	/** Stops this thread. */
	readonly pause: (ms: number) => void;
}

/**
 * Ends what left its worker's group, and records the end of a run whose workers
 * were just killed, in the last turn of the program. A process that is not
 * seen to be gone stays on record, or keeps the run open: the next start looks for it.
 */
export function recordExit({ registry, host, clock, pause }: ExitParts): void {
	const begunAt = clock.now();
	let strays = killMarked(host, registry.runId);
	let isLastLook = registry.living().length === 0;
	while (clock.now() - begunAt < PATIENCE_MS) {
		const areGone = recordGone(registry, host);
		if (areGone && strays === 0 && isLastLook) break;
		if (strays > 0 || !areGone) pause(PAUSE_MS);
		// A killed process may have forked meanwhile; and what a worker had just forked
		// carries the marker only once it executes its program.
		isLastLook = areGone;
		if (strays > 0 || areGone) strays = killMarked(host, registry.runId);
	}
	// A run that is not over is looked at by the next start of any program.
	if (strays === 0) registry.close("at_once");
}

/** Records the workers that are gone; returns whether all of them are. */
function recordGone(registry: ProcessRegistry, host: ProcessHost): boolean {
	let areGone = true;
	for (const { incarnation, identity } of registry.living()) {
		if (identity === undefined) continue;
		if (host.observe(identity.pid) === "gone")
			registry.end(incarnation, {
				exit: undefined,
				reason: "host_exit",
				killer: "application_cleanup",
			});
		else areGone = false;
	}
	return areGone;
}

/** Kills whatever carries the marker of the run; returns how many were found. */
function killMarked(host: ProcessHost, runId: RunId): number {
	const found = host
		.marked()
		.filter(({ marker }) => isMarkerOf(marker, runId, host.self));
	for (const { identity } of found) host.signal(identity, "SIGKILL");
	return found.length;
}
