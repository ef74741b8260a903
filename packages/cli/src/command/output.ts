import { styleText } from "node:util";

/** Writes to standard output, with a line break at the end. */
export function write(text: string): void {
	process.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
}

/** In colour on a terminal, unless NO_COLOR or --no-color is set. */
export function coloured(text: string, isGood: boolean): string {
	return styleText(isGood ? "green" : "red", text, { stream: process.stdout });
}

/** Limits a line to this many columns; a line that is cut ends with `…`. */
export function fitted(line: string, columns: number): string {
	return line.length > columns ? `${line.slice(0, columns - 1)}…` : line;
}

/** The columns of the terminal that standard output is; 0 where it is none: there, no line is broken. */
export function terminalColumns(): number {
	return process.stdout.isTTY ? process.stdout.columns || 80 : 0;
}

/** Limits a text to this many columns: what is left out is in its middle. */
export function shortenedInside(text: string, columns: number): string {
	if (text.length <= columns) return text;
	const end = Math.floor((columns - 1) / 2);
	const begin = columns - 1 - end;
	return `${text.slice(0, begin)}…${text.slice(text.length - end)}`;
}

/**
 * Breaks a line at spaces where it is longer than the terminal is wide; `columns` 0 leaves it in one. What has no space, as
 * a path, stays whole.
 *
 * @param indent of the further lines; by default, two columns more than that of the line.
 */
export function folded(
	line: string,
	columns: number,
	indent: number = line.length - line.trimStart().length + 2,
): readonly string[] {
	if (columns === 0 || line.length <= columns) return [line];
	// In a very narrow terminal, the text needs the room.
	const start = " ".repeat(columns - indent < LEAST_TEXT ? 4 : indent);
	const lines: string[] = [];
	let current: string | undefined;
	for (const word of line.split(" ")) {
		const longer = current === undefined ? word : `${current} ${word}`;
		if (longer.length <= columns || (current ?? "").trim() === "") {
			current = longer;
			continue;
		}
		lines.push((current ?? "").trimEnd());
		current = start + word;
	}
	return [...lines, current ?? ""];
}

/** So many columns of text are worth an indentation. */
const LEAST_TEXT = 40;

/** An argument as a shell takes it. */
export function quoted(argument: string): string {
	return /^[\w./:@%+=,-]+$/.test(argument)
		? argument
		: `'${argument.replaceAll("'", "'\\''")}'`;
}

/** Breaks a text at spaces into lines of at most this many columns; `columns` 0 leaves it in one line. */
export function wrapped(
	text: string,
	columns: number,
	indent: string,
): readonly string[] {
	if (columns === 0) return [indent + text];
	const lines: string[] = [];
	let line = indent;
	for (const word of text.split(" ")) {
		const isFirst = line.trim() === "";
		if (!isFirst && line.length + 1 + word.length > columns) {
			lines.push(line);
			line = indent;
		}
		line += line.trim() === "" ? word : ` ${word}`;
	}
	return [...lines, line];
}

/** Aligns rows in columns of the width that they need; the last column has no trailing spaces. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
	const widths = (rows[0] ?? []).map((_, column) =>
		Math.max(...rows.map((row) => row[column]?.length ?? 0)),
	);
	return rows.map((row) =>
		row
			.map((cell, column) => cell.padEnd(widths[column] ?? 0))
			.join("  ")
			.trimEnd(),
	);
}
