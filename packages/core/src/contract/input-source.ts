import { EventEmitter } from "node:events";

/**
 * Takes over what a caller gave to be read later, when a worker or a program is there for it. A stream that fails
 * meanwhile would end the host, since nothing listens to it; so it throws its error when it is read.
 */
export function ignoreEarlyErrors(source: unknown): void {
	if (source instanceof EventEmitter) source.on("error", () => {});
}

/**
 * Closes a stream that was taken over and is not read any more: it may hold a descriptor. Another source is closed when
 * its reader leaves it.
 */
export function closeSource(source: unknown): void {
	const { destroy } = (source ?? {}) as { destroy?: unknown };
	try {
		if (typeof destroy === "function") destroy.call(source);
	} catch {
		// What it was for is over, and has its result.
	}
}
