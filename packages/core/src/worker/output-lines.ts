import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** One line of a worker's output, without its line break. */
export interface OutputLine {
	readonly text: string;
	/** The line was longer than the limit; the rest of it was dropped. */
	readonly cut: boolean;
}

/**
 * Drains a stream and splits it into lines of bounded length.
 *
 * The stream never blocks the worker and never grows the host's memory by more
 * than one line. Calls `onEnd` once, when no process holds the other end any
 * more; a last line without a break is told before it.
 */
export function readLines(
	stream: Readable,
	maxLineBytes: number,
	onLine: (line: OutputLine) => void,
	onEnd: () => void,
): void {
	const decoder = new StringDecoder("utf8");
	let held = "";
	let heldBytes = 0;
	/** A carriage return of which it is not known yet whether it ends the line. */
	let carriageReturn = "";
	let skipping = false;

	const take = (more: string, complete: boolean): void => {
		let text = carriageReturn + more;
		carriageReturn = "";
		if (text.endsWith("\r")) {
			text = text.slice(0, -1);
			if (!complete) carriageReturn = "\r";
		}
		if (!skipping) {
			const room = maxLineBytes - heldBytes;
			const bytes = Buffer.byteLength(text);
			if (bytes > room) {
				onLine({ text: held + cutToBytes(text, room), cut: true });
				skipping = true;
				held = "";
				heldBytes = 0;
			} else {
				held += text;
				heldBytes += bytes;
			}
		}
		if (!complete) return;
		if (!skipping) onLine({ text: held, cut: false });
		skipping = false;
		held = "";
		heldBytes = 0;
	};

	stream.on("data", (chunk: Buffer) => {
		const parts = decoder.write(chunk).split("\n");
		for (const [index, part] of parts.entries())
			take(part, index < parts.length - 1);
	});
	let ended = false;
	const end = (): void => {
		if (ended) return;
		ended = true;
		const rest = carriageReturn + decoder.end();
		carriageReturn = "";
		if (held !== "" || rest !== "") take(rest, true);
		onEnd();
	};
	stream.on("end", end);
	stream.on("close", end);
	stream.on("error", end); // A broken pipe of a dead worker ends its output and nothing else.
}

/** The longest prefix of `text` that fits in `bytes` of UTF-8. */
function cutToBytes(text: string, bytes: number): string {
	return new StringDecoder("utf8").write(Buffer.from(text).subarray(0, bytes));
}
