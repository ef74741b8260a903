import type { ProcessRegistry } from "../registry/process-registry.ts";
import type { Clock, ProcessHost } from "../world.ts";

/** A killed process is gone within a millisecond or two; the exit of the program does not wait longer. */
const PATIENCE_MS = 20;
const PAUSE_MS = 1;

export interface ExitParts {
	readonly registry: ProcessRegistry;
	readonly host: ProcessHost;
	readonly clock: Clock;
	/** Stops this thread. */
	readonly pause: (ms: number) => void;
}

/**
 * Records the end of a run whose workers were just killed, in the last turn of
 * the program. Workers that are not seen to be gone stay on record, and the
 * next start looks for them.
 */
export function recordExit({ registry, host, clock, pause }: ExitParts): void {
	const isGone = (pid: number): boolean => host.observe(pid) === "gone";
	const begunAt = clock.now();
	while (clock.now() - begunAt < PATIENCE_MS) {
		let waiting = false;
		for (const { incarnation, identity } of registry.living()) {
			if (identity === undefined) continue;
			if (isGone(identity.pid))
				registry.end(incarnation, {
					exit: undefined,
					reason: "host_exit",
					killer: "application_cleanup",
				});
			else waiting = true;
		}
		if (!waiting) break;
		pause(PAUSE_MS);
	}
	registry.close();
}
