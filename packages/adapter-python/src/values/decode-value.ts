import { InputError } from "@snakepit/core";
import type { CallSession } from "@snakepit/core/adapter";
import { ImageReader, MalformedImage } from "./image-reader.ts";
import { ValueDecoder } from "./value-decoder.ts";

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
	return decode(new ImageReader(bytes, begin, end), attachment, session);
}

/**
 * As {@link decodeValue}, of bytes that nobody reads again: a large array may move within them, instead of being copied.
 *
 * @throws InputError `VALUE_NOT_TRANSFERABLE` when the bytes are not an image.
 */
export function decodeReceived(
	bytes: Uint8Array,
	begin: number,
	end: number,
	session: CallSession | undefined,
): unknown {
	const reader = new ImageReader(bytes, begin, end, "read once");
	return decode(reader, undefined, session);
}

function decode(
	reader: ImageReader,
	attachment: Uint8Array | undefined,
	session: CallSession | undefined,
): unknown {
	try {
		const value = new ValueDecoder(reader, attachment, session).value();
		if (reader.remaining !== 0)
			reader.fail(`${reader.remaining} bytes after its end`);
		return value;
	} catch (cause) {
		if (!(cause instanceof MalformedImage) && !(cause instanceof RangeError))
			throw cause;
		throw new InputError({
			code: "VALUE_NOT_TRANSFERABLE",
			ran: "maybe",
			message: cause.message,
			path: "$",
			cause,
		});
	}
}
