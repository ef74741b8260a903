import { resultTooLarge } from "./failures.ts";

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
 * Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
 *
 * @throws InputError `RESULT_TOO_LARGE` when the data of an event have more than `most` characters.
 */
export async function* eventsOf(
	lines: AsyncIterable<string>,
	most: number,
): AsyncGenerator<ServerSentEvent> {
	let event = "message";
	let id = "";
	let data: string[] = [];
	let length = 0;
	let isFirst = true;
	for await (const each of lines) {
		const line = isFirst ? each.replace(/^\u{FEFF}/u, "") : each;
		isFirst = false;
		if (line === "") {
			if (data.length > 0) yield { event, data: data.join("\n"), id };
			event = "message";
			data = [];
			length = 0;
			continue;
		}
		const colon = line.indexOf(":");
		const field = colon < 0 ? line : line.slice(0, colon);
		const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
		if (field === "event") event = value || "message";
		else if (field === "id" && !value.includes("\0")) id = value;
		else if (field === "data") {
			length += value.length + 1;
			if (length > most) throw resultTooLarge(most);
			data.push(value);
		}
	}
}
