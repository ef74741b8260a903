/** Why something was not exported, or not whole. */
export type DropReason =
	| "attribute_cut"
	| "command_limit"
	| "listener_threw"
	| "tracer_threw"
	| "meter_threw"
	| "logger_threw";

/** Counts what is lost before it is exported. */
export class Drops {
	#count: (reason: DropReason) => void = () => {};

	/** Sets the function that counts from now on. */
	countWith(count: (reason: DropReason) => void): void {
		this.#count = count;
	}

	/** Never throws: the function that counts may. */
	count(reason: DropReason): void {
		try {
			this.#count(reason);
		} catch {
			// There is nothing left to report it to.
		}
	}

	/** Calls foreign code; what it throws is counted and not thrown on. */
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
