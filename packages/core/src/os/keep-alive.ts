/** Holds the program open while at least one holder has not let go. */
export class KeepAlive {
	#holders = 0;
	#timer: NodeJS.Timeout | undefined;

	/** Returns the function that lets go; calling it again does nothing. */
	hold(): () => void {
		this.#holders += 1;
		this.#timer ??= setInterval(() => {}, 2 ** 30);
		let holding = true;
		return () => {
			if (!holding) return;
			holding = false;
			this.#holders -= 1;
			if (this.#holders > 0) return;
			clearInterval(this.#timer);
			this.#timer = undefined;
		};
	}
}
