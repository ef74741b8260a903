import type { Clock, Timer } from "./contract/clock.ts";

/** A timer this late means that the program itself did not run: it was stopped, blocked, or held by a debugger. */
const STANDSTILL_MS = 500;

/**
 * Calls `action` when `ms` milliseconds have passed in which this program ran.
 *
 * For what is done to another process because it is too slow: what that one said
 * while we stood still lies unread, and is read before more time is counted.
 */
export function afterRunning(
	clock: Clock,
	ms: number,
	action: () => void,
): Timer {
	let timer = next(ms);
	return { cancel: () => timer.cancel() };

	function next(leftMs: number): Timer {
		const partMs = Math.min(leftMs, STANDSTILL_MS);
		const dueMs = clock.now() + partMs;
		return clock.after(partMs, () => {
			const ran = clock.now() - dueMs < STANDSTILL_MS;
			const restMs = ran ? leftMs - partMs : leftMs;
			if (restMs > 0) timer = next(restMs);
			else action();
		});
	}
}

/** Whether the process ends within the time, and before `givenUp` is aborted. */
export async function goneWithin(
	process: { readonly exited: Promise<unknown> },
	ms: number,
	clock: Clock,
	givenUp?: AbortSignal,
): Promise<boolean> {
	if (givenUp?.aborted === true) return false;
	const { promise, resolve } = Promise.withResolvers<boolean>();
	const tooLate = (): void => resolve(false);
	const timer = clock.after(ms, tooLate);
	givenUp?.addEventListener("abort", tooLate);
	void process.exited.then(() => resolve(true));
	try {
		return await promise;
	} finally {
		timer.cancel();
		givenUp?.removeEventListener("abort", tooLate);
	}
}
