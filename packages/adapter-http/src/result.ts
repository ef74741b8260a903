import type { IncomingMessage } from "node:http";
import { resultTooLarge } from "./failures.ts";
import { eventsOf } from "./server-sent-events.ts";
import { linesOf, textOf } from "./text-lines.ts";

/** What a response is read as. */
export type BodyKind = "json" | "ndjson" | "sse" | "text" | "bytes";

const KINDS: readonly (readonly [RegExp, BodyKind])[] = [
	[/^application\/(x-)?(ndjson|jsonl|jsonlines|json-lines)$/, "ndjson"],
	[/^application\/([\w.-]+\+)?json$/, "json"],
	[/^text\/event-stream$/, "sse"],
	[/^text\//, "text"],
];

/** What a response says that it is; bytes where it says nothing that is known. */
export function kindOf(contentType: string | undefined): BodyKind {
	const type = contentType?.split(";")[0]?.trim().toLowerCase() ?? "";
	return KINDS.find(([pattern]) => pattern.test(type))?.[1] ?? "bytes";
}

/** All of a response: of one with items an array, of bytes a `Buffer`; `undefined` where the body is empty. */
export async function wholeOf(
	response: IncomingMessage,
	kind: BodyKind,
	most: number,
): Promise<unknown> {
	const chunks = upTo(most, response);
	switch (kind) {
		case "json": {
			const text = String(await joined(chunks));
			return text === "" ? undefined : JSON.parse(text);
		}
		case "text":
			return String(await joined(chunks));
		case "bytes":
			return await joined(chunks);
		default:
			return await Array.fromAsync(itemsOf(chunks, kind, most));
	}
}

/** A response as it arrives: lines of JSON, events, or chunks. It is read no faster than the consumer asks. */
export async function* itemsOf(
	chunks: AsyncIterable<Uint8Array>,
	kind: BodyKind,
	most: number,
): AsyncGenerator<unknown> {
	switch (kind) {
		case "json": {
			const text = String(await joined(upTo(most, chunks)));
			if (text !== "") yield JSON.parse(text);
			break;
		}
		case "ndjson":
			for await (const line of linesOf(textOf(chunks), most))
				if (line.trim() !== "") yield JSON.parse(line);
			break;
		case "sse":
			yield* eventsOf(linesOf(textOf(chunks), most), most);
			break;
		case "text":
			yield* textOf(chunks);
			break;
		case "bytes":
			yield* chunks;
	}
}

/** The beginning of a body. One that is longer is left unread. */
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

async function* upTo(
	most: number,
	chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
	let bytes = 0;
	for await (const chunk of chunks) {
		bytes += chunk.length;
		if (bytes > most) throw resultTooLarge(most);
		yield chunk;
	}
}

async function joined(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
	return Buffer.concat(await Array.fromAsync(chunks));
}
