const FIRST_MS = 100;
const LONGEST_MS = 10_000;
/** One that lived this long died of something else than the one before. */
export const STABLE_MS = 60_000;
/** So many deaths in a row are told once as what they are: no protection. */
export const FAILURES_TOLD = 5;

/**
 * How long to wait before a watchdog is started again, in milliseconds: not at
 * all after the first death, then twice as long each time, up to ten seconds.
 *
 * @param deaths how many died in a row, this one included.
 */
export function restartDelay(deaths: number): number {
	if (deaths <= 1) return 0;
	return Math.min(FIRST_MS * 2 ** (deaths - 2), LONGEST_MS);
}
