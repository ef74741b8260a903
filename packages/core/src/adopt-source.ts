import { EventEmitter } from "node:events";

/**
 * Takes over what a caller gave to be read later, when a worker or a program is there for it. A stream that fails
 * meanwhile would end the host, since nothing listens to it; so it throws its error when it is read.
 */
export function adoptSource(source: unknown): void {
	if (source instanceof EventEmitter) source.on("error", () => {});
}
