import type { CallSession } from "@snakepit/core/adapter";
import { ValueDecoder } from "./value-decoder.ts";

/** Reads one image after the other; reading one never starts reading another. */
const decoder = new ValueDecoder();

/**
 * Reads a value from its image (docs/values.md).
 *
 * @param attachment holds the large parts of the value; in the result they are views of it.
 * @param begin of the image within the bytes, which ends at `end`; nothing in the value is a view of a small image.
 * @param session that the handles in the value belong to.
 * @throws InputError `VALUE_NOT_TRANSFERABLE` when the bytes are not an image. Never runs code, and never takes more
 *   memory than the length of the bytes justifies.
 */
export function decodeValue(
	bytes: Uint8Array,
	attachment?: Uint8Array,
	begin = 0,
	end: number = bytes.length,
	session?: CallSession,
): unknown {
	return decoder.image(bytes, begin, end, attachment, session);
}

/**
 * Like {@link decodeValue}, for bytes that are not read again: a large array may be moved within them instead of being
 * copied.
 *
 * @throws InputError `VALUE_NOT_TRANSFERABLE` if the bytes are not an image.
 */
export function decodeReceived(
	bytes: Uint8Array,
	begin: number,
	end: number,
	session: CallSession | undefined,
): unknown {
	return decoder.image(bytes, begin, end, undefined, session, "read once");
}
