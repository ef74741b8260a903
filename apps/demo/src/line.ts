import { stripVTControlCharacters } from "node:util";

/** What a piece of text means to its reader; a terminal and a picture give it a colour. */
export type Tone = "plain" | "strong" | "good" | "busy" | "bad" | "faint";

/** A piece of a line. */
export type Piece = readonly [tone: Tone, text: string];

/** One line of text. */
export type Line = readonly Piece[];

/** Gives a piece of text its look. */
export type Paint = (tone: Tone, text: string) => string;

/** No look: the text alone. */
export const unpainted: Paint = (_tone, text) => text;

export function plain(text: string): Line {
	return [["plain", text]];
}

/** Cuts a line to at most `columns` characters. */
export function cutLine(line: Line, columns: number): Line {
	const kept: Piece[] = [];
	let room = columns;
	for (const [tone, text] of line) {
		if (room <= 0) break;
		kept.push([tone, text.slice(0, room)]);
		room -= text.length;
	}
	return kept;
}

/** Removes escape codes, which workers may print, and paints what is left. */
export function paintLine(line: Line, paint: Paint): string {
	return line
		.map(([tone, text]) => paint(tone, stripVTControlCharacters(text)))
		.join("");
}

export function widthOf(line: Line): number {
	return line.reduce((width, [, text]) => width + text.length, 0);
}
