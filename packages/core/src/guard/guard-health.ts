/** How the guards of a run have fared, as far as it matters for the next one. */
export interface GuardHealth {
	/** Chains in a row that could not be started, or were lost soon. */
	readonly failures: number;
	/** Before this moment of the monotonic clock none is tried. */
	readonly againMs: number;
}

export const HEALTHY: GuardHealth = { failures: 0, againMs: 0 };

/** A chain that lived this long has proved that one can work here. */
const PROVEN_MS = 10_000;
/** So many in a row, and something here ends guards. */
const TOO_MANY = 3;
const PAUSE_MS = 60_000;

/** A chain could not be started (`livedMs` is 0), or was lost. */
export function afterLoss(
	before: GuardHealth,
	livedMs: number,
	nowMs: number,
): GuardHealth {
	const failures = livedMs >= PROVEN_MS ? 1 : before.failures + 1;
	return {
		failures,
		againMs: failures < TOO_MANY ? nowMs : nowMs + PAUSE_MS,
	};
}

export function mayBeTried({ againMs }: GuardHealth, nowMs: number): boolean {
	return nowMs >= againMs;
}
