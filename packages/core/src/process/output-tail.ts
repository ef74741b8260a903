import { plainText } from "../contract/text.ts";

const HEADING = "\nIts last lines:\n";

/** An error message without the paragraph of last lines at its end. */
export function withoutLastLines(message: string): string {
	const [text = ""] = message.split(HEADING, 1);
	return text;
}

/** The last lines, limited in their total number of characters; of a longer single line, its end. */
export function lastCharacters(
	lines: readonly string[],
	most: number,
): readonly string[] {
	const kept: string[] = [];
	let left = most;
	for (const line of lines.toReversed()) {
		if (left <= 0) break;
		kept.unshift(line.slice(-left));
		left -= Math.max(1, line.length);
	}
	return kept;
}

/** Keeps the last lines of a worker, to explain its death. */
export class OutputTail {
	#limit: number;
	readonly #lines: string[] = [];

	constructor(limit: number) {
		this.#limit = limit;
	}

	/** Keeps this many more lines from now on. */
	makeRoom(lines: number): void {
		if (this.#limit > 0) this.#limit += lines;
	}

	push(line: string): void {
		if (this.#limit === 0) return;
		if (this.#lines.length === this.#limit) this.#lines.shift();
		this.#lines.push(line);
	}

	/** Oldest first. */
	lines(): readonly string[] {
		return [...this.#lines];
	}

	/** As a paragraph for an error message; empty when nothing was printed. */
	paragraph(): string {
		return this.#lines.length === 0
			? ""
			: `${HEADING}${this.#lines.map((line) => `  | ${plainText(line)}`).join("\n")}`;
	}
}
