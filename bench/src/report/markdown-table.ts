/** Formats a table in Markdown: texts in the first column, figures in the others. Short lines are filled up. */
export function markdownTable(
	head: readonly string[],
	lines: readonly (readonly string[])[],
): string {
	const rule = head.map((_, column) => (column === 0 ? "---" : "---:"));
	const whole = lines.map((line) => [
		...line,
		...head.slice(line.length).fill(""),
	]);
	return [head, rule, ...whole].map(formatRow).join("\n");
}

function formatRow(cells: readonly string[]): string {
	const escaped = cells.map((cell) =>
		cell.replaceAll("|", "\\|").replaceAll("<", "&lt;"),
	);
	return `| ${escaped.join(" | ")} |`;
}
