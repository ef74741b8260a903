/** Why something was not told, or not whole. */
export type DropReason =
	| "attribute_cut"
	| "command_limit"
	| "listener_threw"
	| "tracer_threw"
	| "meter_threw"
	| "logger_threw";

/** Counts what is lost on the way: by whoever listens here. */
export class Drops {
	#count: (reason: DropReason) => void = () => {};

	/** From now on they are counted there. */
	countWith(count: (reason: DropReason) => void): void {
		this.#count = count;
	}

	/** Never throws: who counts is somebody else's code too. */
	count(reason: DropReason): void {
		try {
			this.#count(reason);
		} catch {
			// There is nobody left to tell.
		}
	}

	/** Does something with somebody else's code; what it throws is counted, and that is all. */
	guard<T>(
		reason: "tracer_threw" | "meter_threw" | "logger_threw",
		action: () => T,
	): T | undefined {
		try {
			return action();
		} catch {
			this.count(reason);
			return undefined;
		}
	}
}
