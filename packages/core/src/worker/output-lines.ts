import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** One line of a worker's output, without its line break. */
export interface OutputLine {
	readonly text: string;
	/** The line was longer than the limit; the rest of it was dropped. */
	readonly cut: boolean;
}

/** One turn of the event loop tells so many; a chunk of nothing but line breaks has 65,536. */
const LINES_PER_TURN = 1_000;

/**
 * Drains a stream and splits it into lines of bounded length.
 *
 * The stream never blocks the worker and never grows the host's memory by more
 * than one line. Calls `onEnd` once, when no process holds the other end any
 * more; a last line without a break is told before it.
 *
 * @param later does something in a later turn of the event loop.
 */
export function readLines(
	stream: Readable,
	maxLineBytes: number,
	onLine: (line: OutputLine) => void,
	onEnd: () => void,
	later: (action: () => void) => void,
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

	/** Of the chunk that is being told; the last one is not complete. */
	let parts: readonly string[] = [];
	let next = 0;
	const tell = (most: number): void => {
		for (let told = 0; told < most && next < parts.length; told++, next++)
			take(parts[next] ?? "", next < parts.length - 1);
	};
	const tellInTurns = (): void => {
		tell(LINES_PER_TURN);
		if (next < parts.length) later(tellInTurns);
		else stream.resume();
	};
	stream.on("data", (chunk: Buffer) => {
		parts = decoder.write(chunk).split("\n");
		next = 0;
		tell(LINES_PER_TURN);
		if (next === parts.length) return;
		// So many short lines that telling them at once would hold up everything else.
		stream.pause();
		later(tellInTurns);
	});
	let ended = false;
	const end = (): void => {
		if (ended) return;
		ended = true;
		tell(Number.POSITIVE_INFINITY);
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
