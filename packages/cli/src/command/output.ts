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
