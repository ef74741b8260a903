import type { CallSession } from "@snakepit/core/adapter";
import { decodeValue } from "./decode-value.ts";
import { Handle } from "./handle.ts";

/** Releases the object of a handle that no caller gets, because its call was cancelled. Other values need nothing. */
export function releaseUnclaimed(value: unknown): void {
	// If this fails, the end of the session releases it.
	if (value instanceof Handle) value.release().catch(() => {});
}

/** The same for a value that was not read. */
export function releaseUnread(
	image: Uint8Array,
	session: CallSession | undefined,
): void {
	if (session?.affinity !== "strict" || image.length === 0) return;
	try {
		releaseUnclaimed(decodeValue(image, undefined, 0, image.length, session));
	} catch {
		// It is not a value, and it is not needed.
	}
}
