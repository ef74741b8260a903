import { randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";
import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import type { Clock, Random, Timer } from "../contract/clock.ts";
import { outbox } from "../outbox.ts";

// Not those of the globals, which fake timers of a test replace: real processes take their time.

/** The clocks of this machine; its timers never hold the program open. */
export const systemClock: Clock = {
	now: performance.now.bind(performance),
	wall: () => Date.now(),
	after(ms: number, action: () => void): Timer {
		// Node turns a longer delay into 1 ms.
		const limitedMs = Math.min(ms, 2 ** 31 - 1);
		const timer = setTimeout(outbox.during, limitedMs, action).unref();
		return { cancel: () => clearTimeout(timer) };
	},
	soon: (action) => void setImmediate(outbox.during, action),
};

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Stops this thread: only for the exit of the program, where no event loop runs any more. */
export function pauseSync(ms: number): void {
	Atomics.wait(sleeper, 0, 0, ms);
}

/** Chance from the operating system: nothing that follows from it can be guessed. */
export const systemRandom: Random = {
	fraction: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
	token: () => randomBytes(32).toString("hex"),
};
