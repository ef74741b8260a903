import type { Clock, Timer } from "./contract/clock.ts";

/** A timer this late means that the program itself did not run: it was stopped, blocked, or held by a debugger. */
const STANDSTILL_MS = 500;

/**
 * Calls `action` when `ms` milliseconds have passed in which this program ran.
 *
 * For what is done to another process because it is too slow: what that one sent
 * while we stood still is unread, and is read before more time is counted.
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

/** Settles as `promise` does. @throws the signal's reason when it aborts first. */
export async function abortable<Value>(
	promise: Promise<Value>,
	signal: AbortSignal,
): Promise<Value> {
	const end = Promise.withResolvers<never>();
	const aborted = (): void => end.reject(signal.reason);
	if (signal.aborted) aborted();
	signal.addEventListener("abort", aborted);
	try {
		return await Promise.race([promise, end.promise]);
	} finally {
		signal.removeEventListener("abort", aborted);
	}
}

/** How long a promise is awaited. */
export interface Deadline {
	readonly clock: Clock;
	readonly ms: number;
	/** Which time counts: all of it, or that of {@link afterRunning}. @default "all" */
	readonly counts?: "all" | "running" | undefined;
	/** When it aborts, the wait ends, with the signal's reason. */
	readonly signal?: AbortSignal | undefined;
}

/**
 * Settles as `promise` does, if that is in time.
 *
 * @param late called when it is not: what it returns or throws is the outcome then.
 * @throws the signal's reason when it aborts first.
 */
export async function withDeadline<Value, Late = never>(
	promise: PromiseLike<Value>,
	{ clock, ms, counts = "all", signal }: Deadline,
	late: () => Late,
): Promise<Value | Late> {
	const end = Promise.withResolvers<"late">();
	const timeout = (): void => end.resolve("late");
	const timer =
		counts === "running"
			? afterRunning(clock, ms, timeout)
			: clock.after(ms, timeout);
	const first = Promise.race([
		promise.then((value) => ({ value })),
		end.promise,
	]);
	try {
		const outcome = await (signal === undefined
			? first
			: abortable(first, signal));
		return outcome === "late" ? late() : outcome.value;
	} finally {
		timer.cancel();
	}
}

/** Whether a promise that never rejects resolves in time, and before `signal` aborts. */
export async function resolvesWithin(
	promise: Promise<unknown>,
	ms: number,
	clock: Clock,
	signal?: AbortSignal,
): Promise<boolean> {
	if (signal?.aborted === true) return false;
	const deadline = { clock, ms, signal };
	try {
		return await withDeadline(
			promise.then(() => true),
			deadline,
			() => false,
		);
	} catch {
		return false; // Aborted.
	}
}

/** Resolves after `ms` milliseconds. @throws the signal's reason when it aborts before. */
export async function pause(
	clock: Clock,
	ms: number,
	signal?: AbortSignal,
): Promise<void> {
	await withDeadline(
		new Promise<never>(() => {}),
		{ clock, ms, signal },
		() => {},
	);
}

/** Lets a bounded number pass at the same time, in the order they came. */
export class Gate {
	#free: number;
	readonly #waiting: (() => void)[] = [];

	constructor(concurrency: number) {
		this.#free = concurrency;
	}

	/** Resolves when there is room; call the result once to make room again. */
	async enter(): Promise<() => void> {
		if (this.#free > 0) this.#free--;
		else await new Promise<void>((resolve) => this.#waiting.push(resolve));
		let left = false;
		return () => {
			if (left) return;
			left = true;
			const next = this.#waiting.shift();
			if (next === undefined) this.#free++;
			else next();
		};
	}
}
