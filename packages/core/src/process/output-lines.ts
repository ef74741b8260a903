import { finished, type Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { Clock, Timer } from "../contract/clock.ts";
import { DrawnLine, type OutputLine } from "./drawn-line.ts";

/** Reported in one turn of the event loop at most; a chunk of nothing but line breaks has 65,536. */
const LINES_PER_TURN = 1_000;
/** A line that is redrawn is reported this often while it changes: often enough to follow, and 720 lines an hour. */
const REDRAW_MS = 5_000;

/**
 * Drains a stream and splits it into lines of bounded length.
 *
 * The stream never blocks the worker and never grows the host's memory by more
 * than one line. A line that is redrawn with carriage returns, as a progress bar
 * is, is reported as it stands every {@link REDRAW_MS} while it changes, and as it
 * stood last when it ends. Calls `onEnd` once, when no process holds the other end
 * any more; a last line without a break is reported before it.
 */
export function readLines(
	stream: Readable,
	maxLineBytes: number,
	onLine: (line: OutputLine) => void,
	onEnd: () => void,
	clock: Pick<Clock, "after">,
): void {
	const decoder = new StringDecoder("utf8");
	let line = new DrawnLine(maxLineBytes);
	/** Whether what the line shows now was reported. */
	let reported = false;
	let redraw: Timer | undefined;

	const report = (): void => {
		if (reported) return;
		reported = true;
		onLine(line.shown);
	};
	const reportDrawn = (): void => {
		redraw = undefined;
		if (line.shown.text !== "") report();
	};
	const write = (text: string): void => {
		if (line.write(text)) reported = false;
		// The first drawing of a line that is too long is certain to be cut; later ones give way to the last.
		if (line.isCut && !line.isRedrawn) report();
	};
	const take = (text: string, complete: boolean): void => {
		const begin = text.indexOf("\r");
		if (begin > 0) write(text.slice(0, begin));
		write(begin > 0 ? text.slice(begin) : text);
		if (complete && line.break()) {
			redraw?.cancel();
			redraw = undefined;
			report();
			line = new DrawnLine(maxLineBytes);
			reported = false;
		} else if (line.isRedrawn && !reported)
			redraw ??= clock.after(REDRAW_MS, reportDrawn);
	};

	/** The lines of the chunk that is being reported; the last one is not complete. */
	let parts: readonly string[] = [];
	let next = 0;
	const reportParts = (most: number): void => {
		for (let taken = 0; taken < most && next < parts.length; taken++, next++)
			take(parts[next] ?? "", next < parts.length - 1);
	};
	const reportInTurns = (): void => {
		reportParts(LINES_PER_TURN);
		if (next < parts.length) clock.after(0, reportInTurns);
		else stream.resume();
	};
	stream.on("data", (chunk: Buffer) => {
		parts = decoder.write(chunk).split("\n");
		next = 0;
		reportParts(LINES_PER_TURN);
		if (next === parts.length) return;
		// So many short lines that reporting them at once would hold up everything else.
		stream.pause();
		clock.after(0, reportInTurns);
	});
	// Also calls back where the stream ended before. A broken pipe of a dead worker ends its output and nothing else.
	finished(stream, { writable: false }, () => {
		reportParts(Number.POSITIVE_INFINITY);
		write(decoder.end());
		redraw?.cancel();
		if (line.shown.text !== "" || line.shown.cut) report();
		onEnd();
	});
}
