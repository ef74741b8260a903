import { resultTooLarge } from "./failures.ts";

const LINE_END = /\r\n|\n|\r/g;

/** Text as it arrives; a character is never split. */
export async function* textOf(
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
export async function* linesOf(
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
