/** What a worker prints may move the cursor, or pretend to be something else: control characters are shown as such. */
export function plainText(text: string): string {
	return text.replaceAll(
		// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is replaced.
		/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
		(character) =>
			`\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
	);
}

/** A line of so many columns at most; one that is cut ends with `…`. */
export function fitted(line: string, columns: number): string {
	return line.length > columns ? `${line.slice(0, columns - 1)}…` : line;
}

/** Rows as columns of the width that they need; the last is not filled up. */
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

/** A duration for people, as `850 ms`, `12.3 s`, `4 min` or `3.2 h`. */
export function duration(ms: number): string {
	if (ms < 1_000) return `${Math.round(ms)} ms`;
	if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
	if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
	return `${(ms / 3_600_000).toFixed(1)} h`;
}

/** A size in memory for people. */
export function megabytes(bytes: number): string {
	return `${(bytes / 1e6).toFixed(0)} MB`;
}
