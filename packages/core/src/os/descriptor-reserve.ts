import { closeSync, openSync } from "node:fs";

/**
 * One descriptor that is kept for looks at the process table: a program that
 * has used up its own must not take its workers for gone.
 */
export class DescriptorReserve {
	#descriptor: number | undefined = hold();

	/**
	 * Looks, with the reserve where there is no other descriptor. The look must be
	 * synchronous and hold one descriptor at a time.
	 *
	 * @throws what the look throws, for another reason than a lack of descriptors too.
	 */
	use<Result>(look: () => Result): Result {
		// Another thread can have taken it while it was in use, and given it back since.
		this.#descriptor ??= hold();
		try {
			return look();
		} catch (error) {
			if (!outOfDescriptors(error) || this.#descriptor === undefined)
				throw error;
		}
		closeSync(this.#descriptor);
		this.#descriptor = undefined;
		try {
			return look();
		} finally {
			this.#descriptor = hold();
		}
	}
}

/** Whether an error says that this process, or the system, can open nothing more. */
export function outOfDescriptors(error: unknown): boolean {
	const { code } = error as NodeJS.ErrnoException;
	return code === "EMFILE" || code === "ENFILE";
}

function hold(): number | undefined {
	try {
		return openSync("/dev/null", "r");
	} catch {
		return undefined; // Taken meanwhile by another thread.
	}
}
