/** How messages lie in a stream of bytes. */
export interface Framing {
	/** The bytes of one message. */
	frame(message: string): string | Buffer;
	/** Finds the messages in the received data; one for each stream. */
	reader(maxMessageBytes: number): FrameReader;
}

export interface FrameReader {
	/**
	 * Takes received data.
	 *
	 * @returns the messages that are now complete, in order.
	 * @throws FramingError if the data is not a message, or is longer than the limit.
	 */
	take(chunk: Buffer): readonly string[];
	/** The first line that was found where a header should be. */
	readonly stray?: string | undefined;
}

/** The received data cannot be divided into messages: the conversation is over. */
export class FramingError extends Error {
	override readonly name = "FramingError";
}
