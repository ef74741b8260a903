import type { Clock } from "../contract/clock.ts";

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
