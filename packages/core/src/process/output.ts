import { finished, type Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { Clock, Timer } from "../contract/clock.ts";
import { type LineKind, LineKinds } from "../contract/telling-lines.ts";
import { LAST_LINES, plainText } from "../contract/text.ts";
import { withDeadline } from "../deadline.ts";

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
	let line = new TerminalLine(maxLineBytes);
	/** Whether what the line shows now was reported. */
	let reported = false;
	let redraw: Timer | undefined;

	const report = (): void => {
		if (reported) return;
		reported = true;
		onLine(line.shown);
	};
	const reportRedrawn = (): void => {
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
			line = new TerminalLine(maxLineBytes);
			reported = false;
		} else if (line.isRedrawn && !reported)
			redraw ??= clock.after(REDRAW_MS, reportRedrawn);
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

/** One line of a worker's output, without its line break. */
export interface OutputLine {
	readonly text: string;
	/** The line was longer than the limit; the rest of it was dropped. */
	readonly cut: boolean;
}

/** Moves the cursor one line up: what a bar below another one ends each of its drawings with. */
const UP = "\u001b[A";

const EMPTY: OutputLine = { text: "", cut: false };

/**
 * What a terminal shows of one line while it is written: text after a carriage
 * return takes the place of what was there, as a progress bar does it. A carriage
 * return alone changes nothing, so that CRLF is one line break; blanks erase.
 * A line break after {@link UP} leads back to the same line: so two bars are drawn.
 *
 * Holds two texts of at most `maxBytes` of UTF-8, however often it is redrawn.
 */
class TerminalLine {
	readonly #maxBytes: number;
	/** What was there before the last carriage return. */
	#before = EMPTY;
	/** What came after it. */
	#text = "";
	#textBytes = 0;
	#cut = false;
	#redrawn = false;
	/** How many lines above this one the cursor is. */
	#linesAbove = 0;

	constructor(maxBytes: number) {
		this.#maxBytes = maxBytes;
	}

	/** Whether there was a carriage return. */
	get isRedrawn(): boolean {
		return this.#redrawn;
	}

	get isCut(): boolean {
		return this.#cut;
	}

	/** What it shows now. */
	get shown(): OutputLine {
		const text = withoutUps(this.#text);
		return text === "" && !this.#cut ? this.#before : { text, cut: this.#cut };
	}

	/** Takes a line break; returns whether the line ends with it. */
	break(): boolean {
		const ups = this.#text.length - withoutUps(this.#text).length;
		if (ups > 0 && !this.#cut) {
			this.#return();
			this.#linesAbove = ups / UP.length;
		}
		if (this.#linesAbove === 0) return true;
		this.#linesAbove--;
		return false;
	}

	/** Adds text without line feeds; returns whether it shows anything else now. */
	write(text: string): boolean {
		let changed = false;
		let begin = 0;
		for (;;) {
			const end = text.indexOf("\r", begin);
			const piece = text.slice(begin, end < 0 ? undefined : end);
			changed = this.#append(piece) || changed;
			if (end < 0) return changed;
			this.#return();
			begin = end + 1;
		}
	}

	#append(piece: string): boolean {
		if (piece === "" || this.#cut) return false;
		this.#linesAbove = 0;
		const room = this.#maxBytes - this.#textBytes;
		const bytes = Buffer.byteLength(piece);
		this.#cut = bytes > room;
		this.#text += this.#cut ? cutToBytes(piece, room) : piece;
		this.#textBytes += bytes;
		return true;
	}

	#return(): void {
		this.#redrawn = true;
		if (this.#text === "" && !this.#cut) return;
		const text = withoutUps(this.#text);
		const isErased = text !== "" && text.trim() === "" && !this.#cut;
		this.#before = isErased ? EMPTY : this.shown;
		this.#text = "";
		this.#textBytes = 0;
		this.#cut = false;
	}
}

function withoutUps(text: string): string {
	let end = text.length;
	while (text.endsWith(UP, end)) end -= UP.length;
	return text.slice(0, end);
}

/** The longest prefix of `text` that fits in `bytes` of UTF-8. */
function cutToBytes(text: string, bytes: number): string {
	return new StringDecoder("utf8").write(Buffer.from(text).subarray(0, bytes));
}

/** Of each process, in the ledger. */
export const TAIL_CHARACTERS = 4_096;
/** Of a crash: those of the thread that failed, and of all others. */
const FRAME_LINES = 60;

/**
 * Keeps the last lines of a worker, to explain its death. The frames of a crash have room of their own: they do not push out
 * what the program said before it.
 */
export class OutputTail {
	#limit: number;
	#frameLimit = FRAME_LINES;
	readonly #kinds = new LineKinds();
	readonly #lines: { readonly text: string; readonly kind: LineKind }[] = [];
	readonly #count: Record<LineKind, number> = {
		own: 0,
		failed_thread: 0,
		frames: 0,
	};

	constructor(limit: number) {
		this.#limit = limit;
	}

	/** Keeps this many more lines from now on. */
	makeRoom(lines: number): void {
		if (this.#limit === 0) return;
		this.#limit += lines;
		this.#frameLimit += lines;
	}

	push(text: string): void {
		if (this.#limit === 0) return;
		const kind = this.#kinds.next(text);
		// The innermost frames come first.
		if (kind === "failed_thread" && this.#count[kind] >= this.#frameLimit)
			return;
		this.#lines.push({ text, kind });
		this.#count[kind]++;
		if (this.#count.frames > this.#frameLimit) this.#drop("frames");
		while (this.#count.own > this.#limit) this.#shift();
	}

	/** Drops the oldest one of a kind. */
	#drop(kind: LineKind): void {
		const index = this.#lines.findIndex((line) => line.kind === kind);
		this.#lines.splice(index, 1);
		this.#count[kind]--;
	}

	/** Drops the oldest of all. */
	#shift(): void {
		const dropped = this.#lines.shift();
		if (dropped !== undefined) this.#count[dropped.kind]--;
	}

	/** Oldest first. */
	lines(): readonly string[] {
		return this.#lines.map(({ text }) => text);
	}

	/** As a paragraph for an error message; empty when nothing was printed. */
	paragraph(): string {
		return this.#lines.length === 0
			? ""
			: `${LAST_LINES}${this.#lines.map(({ text }) => `  | ${plainText(text)}`).join("\n")}`;
	}
}

/**
 * What a dead process wrote and was not read yet is at most what a pipe holds: that
 * can be read immediately. Something else may hold the output open for ever, so it is
 * awaited no longer than this after the last byte.
 */
export const QUIET_MS = 1_000;
/** Something that left the group may hold an output open: the last lines of a dead process are awaited this long. */
export const LAST_LINES_MS = 100;
/** A consumer that reads slowly gets so much time for what is left. */
const MOST_MS = 10_000;

/**
 * A stream from a process that other code reads: an adapter, or the reader of a job's output.
 *
 * Only looks at it. The reader may let it wait.
 */
export class ReadOutput {
	/** Resolves when all of it was read, and no process holds it any more. Never rejects. */
	readonly ended: Promise<void>;
	readonly #stream: Readable;
	readonly #clock: Clock;
	#state: "open" | "ended" = "open";

	constructor(stream: Readable, clock: Clock) {
		this.#stream = stream;
		this.#clock = clock;
		this.ended = new Promise((resolve) => {
			// The output of a forked worker may have ended before its start was reported.
			finished(stream, { writable: false }, () => {
				this.#state = "ended";
				resolve();
			});
		});
	}

	get hasEnded(): boolean {
		return this.#state === "ended";
	}

	/** Whether its reader has ever begun. */
	get isRead(): boolean {
		return this.#stream.readableFlowing !== null;
	}

	/** For a process that is gone: resolves when what it wrote was read, or will not be. */
	async readToTheEnd(): Promise<void> {
		const begunMs = this.#clock.now();
		while (
			this.#state === "open" &&
			this.#clock.now() - begunMs < MOST_MS &&
			(await this.#goesOn())
		);
	}

	/** Whether something was read in the time, or the reader lets it wait. */
	async #goesOn(): Promise<boolean> {
		const before = taken(this.#stream);
		const clock = this.#clock;
		await withDeadline(
			this.ended,
			{ clock, ms: QUIET_MS },
			// After a turn that was too long, what has arrived meanwhile is read first.
			() => new Promise<void>((resolve) => clock.soon(resolve)),
		);
		return this.#stream.readableLength > 0 || taken(this.#stream) !== before;
	}
}

/** Changes when something is read. A pipe or a socket also counts what it has read. */
function taken(stream: Readable & { readonly bytesRead?: number }): string {
	return `${stream.bytesRead ?? 0} ${stream.readableLength}`;
}
