import { StringDecoder } from "node:string_decoder";

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
export class DrawnLine {
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
