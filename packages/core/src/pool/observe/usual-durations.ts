/** How long the last calls of one command ran that ended by themselves. */
export interface UsualDuration {
	/** How many of them are remembered. */
	readonly calls: number;
	/** How long the longest of those ran, in milliseconds. */
	readonly longestMs: number;
}

/** At least so many of the last calls of a command are remembered, and twice as many at most. */
const REMEMBERED = 500;
/** A program may make up names: of further commands nothing is remembered. */
const COMMANDS = 200;

interface Remembered {
	readonly command: string;
	calls: number;
	longestMs: number;
	/** The calls before those. */
	earlier: UsualDuration;
}

const NONE: UsualDuration = { calls: 0, longestMs: 0 };

/**
 * How long calls usually run, by command: a call that runs much longer than all of them may hang. What was long once, as
 * the first call after a start, is forgotten after a thousand others.
 */
export class UsualDurations {
	readonly #commands = new Map<string, Remembered>();
	/** Of the last call: the next one most often has the same command. */
	#last: Remembered | undefined;

	/** A call has ended by itself: nothing cancelled it, and its worker lives. */
	note(command: string, ranMs: number): void {
		let remembered = this.#last;
		if (remembered?.command !== command) {
			remembered = this.#of(command);
			if (remembered === undefined) return;
			this.#last = remembered;
		}
		remembered.calls++;
		if (ranMs > remembered.longestMs) remembered.longestMs = ranMs;
		if (remembered.calls < REMEMBERED) return;
		const { calls, longestMs } = remembered;
		remembered.earlier = { calls, longestMs };
		remembered.calls = 0;
		remembered.longestMs = 0;
	}

	/** Of a command; `undefined` if no call of it has ended by itself. */
	of(command: string): UsualDuration | undefined {
		const remembered = this.#commands.get(command);
		if (remembered === undefined) return undefined;
		const { calls, longestMs, earlier } = remembered;
		return {
			calls: calls + earlier.calls,
			longestMs: Math.max(longestMs, earlier.longestMs),
		};
	}

	#of(command: string): Remembered | undefined {
		const known = this.#commands.get(command);
		if (known !== undefined) return known;
		if (this.#commands.size >= COMMANDS) return undefined;
		const remembered = { command, calls: 0, longestMs: 0, earlier: NONE };
		this.#commands.set(command, remembered);
		return remembered;
	}
}
