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
			yield* eventsOf(linesOf(textOf(chunks), most), most);
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
