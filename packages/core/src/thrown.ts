const UNREADABLE = "a value that cannot be shown";

/** The message of a thrown value. Never throws, even if the value's own code does when the message is read. */
export function messageOf(thrown: unknown): string {
	try {
		const { message } = (thrown ?? {}) as { message?: unknown };
		return typeof message === "string" ? message : String(thrown);
	} catch {
		return UNREADABLE;
	}
}

/** A thrown value as an error whose name, message and stack can be read. Never throws. */
export function asError(thrown: unknown): Error {
	try {
		if (thrown instanceof Error) {
			const { name, message } = thrown;
			void thrown.stack;
			if (typeof name === "string" && typeof message === "string")
				return thrown;
		}
	} catch {
		// Its own code threw.
	}
	return new Error(messageOf(thrown), { cause: thrown });
}
