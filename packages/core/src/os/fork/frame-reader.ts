/** Four bytes of length, big-endian, then that many bytes of one JSON object. */
const LENGTH_BYTES = 4;
/** The answers of a process that forks are short. */
export const MAX_ANSWER_BYTES = 65_536;

/** The other side does not keep to the protocol; nothing after this can be understood. */
export class FrameError extends Error {
	override readonly name = "FrameError";
}

/** Makes messages out of bytes, however they are cut. */
export class FrameReader {
	#waiting: Buffer = Buffer.alloc(0);

	/**
	 * Takes bytes; returns the messages that are complete now.
	 *
	 * @throws FrameError on a length over {@link MAX_ANSWER_BYTES}, or bytes that are no JSON object.
	 */
	feed(data: Buffer): readonly Readonly<Record<string, unknown>>[] {
		this.#waiting = Buffer.concat([this.#waiting, data]);
		const messages: Readonly<Record<string, unknown>>[] = [];
		while (this.#waiting.length >= LENGTH_BYTES) {
			const length = this.#waiting.readUInt32BE();
			if (length > MAX_ANSWER_BYTES)
				throw new FrameError(
					`a frame of ${length} bytes, over ${MAX_ANSWER_BYTES}`,
				);
			const end = LENGTH_BYTES + length;
			if (this.#waiting.length < end) break;
			messages.push(parse(this.#waiting.subarray(LENGTH_BYTES, end)));
			this.#waiting = this.#waiting.subarray(end);
		}
		return messages;
	}
}

function parse(body: Buffer): Readonly<Record<string, unknown>> {
	let message: unknown;
	try {
		message = JSON.parse(body.toString("utf8"));
	} catch (error) {
		throw new FrameError(`not JSON: ${String(error)}`);
	}
	if (typeof message !== "object" || message === null || Array.isArray(message))
		throw new FrameError("not a JSON object");
	return message as Readonly<Record<string, unknown>>;
}
