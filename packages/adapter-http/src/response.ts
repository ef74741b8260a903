import type { IncomingMessage } from "node:http";
import { createParser } from "eventsource-parser";
import { resultTooLarge } from "./failures.ts";

/** What a response is read as. */
export type BodyKind = "json" | "ndjson" | "sse" | "text" | "bytes";

const KINDS: readonly (readonly [RegExp, BodyKind])[] = [
	[/^application\/(x-)?(ndjson|jsonl|jsonlines|json-lines)$/, "ndjson"],
	[/^application\/([\w.-]+\+)?json$/, "json"],
	[/^text\/event-stream$/, "sse"],
	[/^text\//, "text"],
];

/** The kind of a response by its header; bytes if the header names no known type. */
export function kindOf(contentType: string | undefined): BodyKind {
	const type = contentType?.split(";")[0]?.trim().toLowerCase() ?? "";
	return KINDS.find(([pattern]) => pattern.test(type))?.[1] ?? "bytes";
}

/** The whole response: an array if it has items, a `Buffer` if it is bytes, `undefined` if the body is empty. */
export async function wholeOf(
	response: IncomingMessage,
	kind: BodyKind,
	most: number,
): Promise<unknown> {
	const whole = await received(response, most);
	switch (kind) {
		case "json":
			return whole.length === 0 ? undefined : JSON.parse(String(whole));
		case "text":
			return String(whole);
		case "bytes":
			return whole;
		default:
			return await Array.fromAsync(itemsOf([whole], kind, most));
	}
}

/** A response as it arrives: lines of JSON, events, or chunks. It is read only as fast as the consumer asks. */
export async function* itemsOf(
	chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
	kind: BodyKind,
	most: number,
): AsyncGenerator<unknown> {
	switch (kind) {
		case "json": {
			const whole = await collected(chunks, most);
			if (whole.length > 0) yield JSON.parse(String(whole));
			break;
		}
		case "ndjson":
			for await (const line of linesOf(textOf(chunks), most))
				if (line.trim() !== "") yield JSON.parse(line);
			break;
		case "sse":
			yield* eventsOf(textOf(chunks), most);
			break;
		case "text":
			yield* textOf(chunks);
			break;
		case "bytes":
			yield* chunks;
	}
}

/** The beginning of a body. The rest of a longer one is not read. */
export async function beginningOf(
	chunks: AsyncIterable<Uint8Array>,
	most: number,
): Promise<string> {
	const read: Uint8Array[] = [];
	let bytes = 0;
	for await (const chunk of chunks) {
		read.push(chunk);
		bytes += chunk.length;
		if (bytes > most) break;
	}
	return Buffer.concat(read).subarray(0, most).toString();
}

/**
 * Collects all bytes of a response as they arrive: iterating over the stream would take several times as long.
 *
 * @throws InputError `RESULT_TOO_LARGE`.
 */
function received(response: IncomingMessage, most: number): Promise<Buffer> {
	return new Promise((resolve, reject) => {
		const read: Buffer[] = [];
		let bytes = 0;
		response.on("data", (chunk: Buffer) => {
			bytes += chunk.length;
			if (bytes > most) response.destroy(resultTooLarge(most));
			else read.push(chunk);
		});
		response.once("error", reject);
		response.once("end", () =>
			resolve(read.length === 1 ? (read[0] as Buffer) : Buffer.concat(read)),
		);
		response.once("close", () => {
			if (!response.readableEnded) reject(new Error("aborted"));
		});
	});
}

/** @throws InputError `RESULT_TOO_LARGE`. */
async function collected(
	chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
	most: number,
): Promise<Buffer> {
	const read: Uint8Array[] = [];
	let bytes = 0;
	for await (const chunk of chunks) {
		bytes += chunk.length;
		if (bytes > most) throw resultTooLarge(most);
		read.push(chunk);
	}
	return Buffer.concat(read);
}

const LINE_END = /\r\n|\n|\r/g;

/** Text as it arrives; a character is never split. */
async function* textOf(
	chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<string> {
	const decoder = new TextDecoder();
	for await (const chunk of chunks) {
		const text = decoder.decode(chunk, { stream: true });
		if (text !== "") yield text;
	}
	const rest = decoder.decode();
	if (rest !== "") yield rest;
}

/**
 * The lines of a text, which end with LF, CR LF or CR. The last one may have no end.
 *
 * @throws InputError `RESULT_TOO_LARGE` when a line has more than `most` characters.
 */
async function* linesOf(
	texts: AsyncIterable<string>,
	most: number,
): AsyncGenerator<string> {
	let rest = "";
	let afterCr = false;
	for await (const text of texts) {
		// The LF of a CR LF may come in the next chunk.
		const chunk = afterCr && text.startsWith("\n") ? text.slice(1) : text;
		afterCr = text.endsWith("\r");
		let start = 0;
		for (const { 0: end, index } of chunk.matchAll(LINE_END)) {
			yield rest + chunk.slice(start, index);
			rest = "";
			start = index + end.length;
		}
		rest += chunk.slice(start);
		if (rest.length > most) throw resultTooLarge(most);
	}
	if (rest !== "") yield rest;
}

/** One event of a `text/event-stream`. */
export interface ServerSentEvent {
	/** Its type; `message` if the server names none. */
	readonly event: string;
	readonly data: string;
	/** The last id from the server; empty if there is none. */
	readonly id: string;
}

/**
 * The events of a stream. An event that the end of the stream cuts off is dropped.
 *
 * @throws InputError `RESULT_TOO_LARGE` when the data of an event have more than `most` characters.
 */
async function* eventsOf(
	texts: AsyncIterable<string>,
	most: number,
): AsyncGenerator<ServerSentEvent> {
	const events: ServerSentEvent[] = [];
	let lastId = "";
	const parser = createParser({
		maxBufferSize: most,
		onEvent: ({ event = "message", data, id = lastId }) => {
			if (data.length > most) throw resultTooLarge(most);
			lastId = id;
			events.push({ event, data, id });
		},
		onError: ({ type }) => {
			if (type === "max-buffer-size-exceeded") throw resultTooLarge(most);
		},
	});
	let endsWithCr = false;
	for await (const text of texts) {
		parser.feed(text);
		yield* events.splice(0);
		endsWithCr = text.endsWith("\r");
	}
	// The parser waits for the LF that may follow a CR.
	if (endsWithCr) parser.feed("\n");
	yield* events;
}
