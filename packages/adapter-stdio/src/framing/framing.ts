/** How messages lie in a stream of bytes. */
export interface Framing {
	/** The bytes of one message. */
	frame(message: string): string | Buffer;
	/** Finds the messages in what arrives; one for each stream. */
	reader(maxMessageBytes: number): FrameReader;
}

export interface FrameReader {
	/**
	 * Takes what has arrived.
	 *
	 * @returns the messages that are complete now, in their order.
	 * @throws FramingError when it is no message, or is longer than the limit.
	 */
	take(chunk: Buffer): readonly string[];
}

/** What arrived cannot be divided into messages: the conversation is over. */
export class FramingError extends Error {
	override readonly name = "FramingError";
}
