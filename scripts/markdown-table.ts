/**
 * A table in Markdown; short rows are filled up.
 *
 * @param rule under the heads of all columns but the first: `---:` for figures.
 */
export function markdownTable(
	heads: readonly string[],
	rows: readonly (readonly string[])[],
	rule = "---",
): string {
	const line = (cells: readonly string[]): string =>
		`| ${heads.map((_, at) => (cells[at] ?? "").replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
	const rules = heads.map((_, at) => (at === 0 ? "---" : rule));
	return [heads, rules, ...rows].map(line).join("\n");
}
