const LINE_FEED = 10;

/**
 * Splits bytes into lines of bounded length, without their breaks (`\n` or `\r\n`).
 * A last line needs no break.
 *
 * @param tooLong called for a longer line; throws.
 */
export async function* linesOf(
	chunks: AsyncIterable<Uint8Array>,
	maxLineBytes: number,
	tooLong: () => Promise<never>,
): AsyncGenerator<string, undefined> {
	let parts: Uint8Array[] = [];
	let size = 0;
	const add = async (part: Uint8Array): Promise<void> => {
		size += part.length;
		if (size > maxLineBytes) await tooLong();
		parts.push(part);
	};
	const line = (): string => {
		const text = Buffer.concat(parts).toString("utf8");
		parts = [];
		size = 0;
		return text.endsWith("\r") ? text.slice(0, -1) : text;
	};
	for await (const chunk of chunks) {
		let from = 0;
		for (;;) {
			const at = chunk.indexOf(LINE_FEED, from);
			if (at < 0) break;
			await add(chunk.subarray(from, at));
			yield line();
			from = at + 1;
		}
		if (from < chunk.length) await add(chunk.subarray(from));
	}
	if (size > 0) yield line();
	return undefined;
}
