import { stripVTControlCharacters } from "node:util";

/** What a piece of text is to its reader; how that looks is the terminal's affair. */
export type Tone = "plain" | "strong" | "good" | "busy" | "bad" | "faint";

/** A piece of a line. */
export type Piece = readonly [tone: Tone, text: string];

/** One line of text, without escape codes. */
export type Line = readonly Piece[];

/** Gives a piece of text its look. */
export type Paint = (tone: Tone, text: string) => string;

/** The look of text where there is no terminal: none. */
export const unpainted: Paint = (_tone, text) => text;

export function plain(text: string): Line {
	return [["plain", text]];
}

/** A line as wide as `columns` at most. */
export function cutLine(line: Line, columns: number): Line {
	const kept: Piece[] = [];
	let left = columns;
	for (const [tone, text] of line) {
		if (left <= 0) break;
		kept.push([tone, text.slice(0, left)]);
		left -= text.length;
	}
	return kept;
}

export function paintLine(line: Line, paint: Paint): string {
	return line
		.map(([tone, text]) => paint(tone, stripVTControlCharacters(text)))
		.join("");
}

export function widthOf(line: Line): number {
	return line.reduce((width, [, text]) => width + text.length, 0);
}
