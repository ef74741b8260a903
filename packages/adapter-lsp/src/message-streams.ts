import type { Readable, Writable } from "node:stream";
import {
	contentLengthFraming,
	FramingError,
} from "@snakepit/adapter-stdio/adapter";
import { InputError } from "@snakepit/core";
import {
	AbstractMessageReader,
	AbstractMessageWriter,
	type DataCallback,
	type Disposable,
	type Message,
	type MessageReader,
	type MessageWriter,
} from "vscode-languageserver-protocol/node";

/** Messages of a server. Those of the protocol's library have no limit. */
export class LimitedReader
	extends AbstractMessageReader
	implements MessageReader
{
	readonly #output: Readable;
	readonly #maxMessageBytes: number;
	readonly #broken: (error: Error) => void;
	readonly #stray: (text: string) => void;

	/**
	 * @param broken gets the error if the data cannot be divided into messages; called once.
	 * @param stray gets text that is no message.
	 */
	constructor(
		output: Readable,
		maxMessageBytes: number,
		broken: (error: Error) => void,
		stray: (text: string) => void,
	) {
		super();
		this.#output = output;
		this.#maxMessageBytes = maxMessageBytes;
		this.#broken = broken;
		this.#stray = stray;
	}

	listen(callback: DataCallback): Disposable {
		const reader = contentLengthFraming.reader(this.#maxMessageBytes);
		const take = (chunk: Buffer): void => {
			try {
				for (const text of reader.take(chunk)) this.#parse(text, callback);
				if (reader.stray !== undefined) this.#stray(reader.stray);
			} catch (error) {
				if (!(error instanceof FramingError)) throw error;
				this.#output.off("data", take);
				this.#output.resume(); // Further output is dropped; otherwise, the process could not end.
				this.#broken(error);
			}
		};
		this.#output.on("data", take);
		return { dispose: () => this.#output.off("data", take) };
	}

	#parse(text: string, callback: DataCallback): void {
		let message: Message;
		try {
			message = JSON.parse(text);
		} catch {
			this.#stray(text);
			const excerpt = JSON.stringify(text.slice(0, 200));
			this.fireError(new Error(`no JSON on standard output: ${excerpt}`));
			return;
		}
		callback(message);
	}
}

/** Of the largest size. */
const QUEUED_MESSAGES = 2;

/** Messages to a server. */
export class LimitedWriter
	extends AbstractMessageWriter
	implements MessageWriter
{
	readonly #input: Writable;
	readonly #maxMessageBytes: number;
	readonly #divert: (message: Message) => Promise<void> | undefined;
	readonly #broken: (error: Error) => void;
	/** The most bytes that wait for a server that does not read. */
	#mostQueued = Number.POSITIVE_INFINITY;

	/**
	 * @param divert sends messages in another way: a message for which it returns something is not sent here.
	 * @param broken gets the error if the server does not read what it is sent.
	 */
	constructor(
		input: Writable,
		maxMessageBytes: number,
		divert: (message: Message) => Promise<void> | undefined,
		broken: (error: Error) => void,
	) {
		super();
		this.#broken = broken;
		this.#input = input;
		this.#maxMessageBytes = maxMessageBytes;
		this.#divert = divert;
	}

	/** From now on, no more may wait than what waits now and a few messages. */
	limitQueue(): void {
		this.#mostQueued =
			this.#input.writableLength + QUEUED_MESSAGES * this.#maxMessageBytes;
	}

	// No `await` before the write: messages must not overtake each other.
	async write(message: Message): Promise<void> {
		await (this.#divert(message) ?? this.send(message));
	}

	/** @throws InputError when it is too large. */
	async send(message: Message): Promise<void> {
		const frame = contentLengthFraming.frame(JSON.stringify(message));
		if (frame.length > this.#maxMessageBytes)
			throw new InputError({
				code: "MESSAGE_TOO_LARGE",
				ran: "no",
				message: `A message has ${frame.length} bytes, more than ${this.#maxMessageBytes} (maxMessageBytes).`,
			});
		const queued = this.#input.writableLength + frame.length;
		if (queued > this.#mostQueued) {
			const error = new Error(
				`it does not read its input: ${queued} bytes wait for it, more than ${this.#mostQueued}`,
			);
			this.#broken(error);
			throw error;
		}
		await new Promise<void>((resolve, reject) =>
			this.#input.write(frame, (error) => (error ? reject(error) : resolve())),
		);
	}

	end(): void {
		this.#input.end();
	}
}
