/** Why data was not exported, or only in part. */
export type DropReason =
	| "attribute_cut"
	| "command_limit"
	| "listener_threw"
	| "tracer_threw"
	| "meter_threw"
	| "logger_threw";

/** Counts data that is lost before it is exported. */
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
			// There is no other place to report this error.
		}
	}

	/** Calls foreign code; an error that it throws is counted and not rethrown. */
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
