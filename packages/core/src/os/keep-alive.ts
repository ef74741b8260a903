import { setInterval } from "node:timers";
/** Holds the program open while at least one holder has not released it. */
export class KeepAlive {
	#holders = 0;
	/** Made once: every call into an idle pool begins a hold. */
	readonly #timer = setInterval(() => {}, 2 ** 30).unref();

	/** Returns the function that releases the hold; calling it again does nothing. */
	readonly hold = (): (() => void) => {
		if (++this.#holders === 1) this.#timer.ref();
		let holding = true;
		return () => {
			if (!holding) return;
			holding = false;
			if (--this.#holders === 0) this.#timer.unref();
		};
	};
}
