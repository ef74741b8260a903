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

/** One error may end several calls: what an adapter makes once and throws each time must not grow. */
const extended = new WeakSet<Error>();

/**
 * Rejects with `error`, the end of whose stack is then the code that waits for the
 * promise: the error was made where an answer arrived or a timer ran, and there
 * is nothing of the caller's. A call that succeeds pays nothing for it.
 *
 * The engine finds who waits from within a reaction that settles a promise. So the
 * promise rejects some turns of the microtask queue later, when a promise that was
 * resolved with it has become one of those who wait.
 */
export function failing(error: Error): Promise<never> {
	return Promise.resolve()
		.then(nothing)
		.then(function settle() {
			addCallersFrames(error, settle);
			throw error;
		});
}

function nothing(): void {}

function addCallersFrames(error: Error, settle: () => void): void {
	addFrames(error, framesBelow(settle));
}

/** Where a stack goes on, from the caller of `top` on. */
export interface CallersFrames {
	readonly stack?: unknown;
}

/** The stack of this moment, from the caller of `top` on. */
export function framesBelow(top: (...args: never[]) => unknown): CallersFrames {
	const here: CallersFrames = {};
	Error.captureStackTrace(here, top);
	return here;
}

/** Ends the stack of an error with those of its caller. An error has that done to it once. */
export function addFrames(error: unknown, here: CallersFrames): void {
	if (!(error instanceof Error) || extended.has(error)) return;
	extended.add(error);
	const { stack } = error;
	// A program may have a say about what stacks are (Error.prepareStackTrace).
	if (typeof here.stack !== "string" || typeof stack !== "string") return;
	const waiting = here.stack
		.split("\n")
		.filter((line) => /^ +at (?!.*processTicksAndRejections)/.test(line));
	Reflect.set(error, "stack", [stack, ...waiting].join("\n"));
}

/** What `look` returns, or the fallback where it throws: for what may be missing, or may not be read. */
export function withFallback<Value, const Fallback>(
	fallback: Fallback,
	look: () => Value,
): Value | Fallback {
	try {
		return look();
	} catch {
		return fallback;
	}
}
