import type { LogLine } from "@snakepit/control";

/** The most lines that are sent to the page at once. */
export const BATCH_LINES = 500;
/** The most characters of one line that the page gets. */
export const LINE_CHARACTERS = 4_000;

/** Lines for the page: the latest, when there are too many. */
export interface LogBatchRecord {
	readonly lines: readonly PageLogLine[];
	/** How many lines before them were left out. */
	readonly leftOut: number;
}

export interface PageLogLine extends LogLine {
	/** How many characters of the text are missing here; unknown for a line that was already cut. */
	readonly missing: number;
}

/** Collects lines until the page takes them. Lines that do not fit are left out and counted. */
export class LogBatch {
	#lines: PageLogLine[] = [];
	#leftOut = 0;

	add(line: LogLine): void {
		const text = line.text.slice(0, LINE_CHARACTERS);
		this.#lines.push({
			...line,
			text,
			missing: line.text.length - text.length,
		});
		// Done rarely: moving all lines for each new one would cost more.
		if (this.#lines.length >= 2 * BATCH_LINES) this.#shorten();
	}

	/** Lines that the program left out, because this client was too slow. */
	lost(lines: number): void {
		this.#leftOut += lines;
	}

	/** Returns the collected lines and starts again; `undefined` if there are none. */
	take(): LogBatchRecord | undefined {
		this.#shorten();
		if (this.#lines.length === 0 && this.#leftOut === 0) return undefined;
		const record = { lines: this.#lines, leftOut: this.#leftOut };
		this.#lines = [];
		this.#leftOut = 0;
		return record;
	}

	#shorten(): void {
		const over = this.#lines.length - BATCH_LINES;
		if (over <= 0) return;
		this.#lines = this.#lines.slice(over);
		this.#leftOut += over;
	}
}
