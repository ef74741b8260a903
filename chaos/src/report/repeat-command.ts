/** How a run is repeated, as it is typed; where its results went is of no account. */
export function repeatCommand(words: readonly string[]): string {
	const kept = words.filter(
		(word, at) => !word.startsWith("--json") && words[at - 1] !== "--json",
	);
	return ["npx pnpm@12 chaos", ...kept.map(typed)].join(" ");
}

/** A word as a shell reads it. */
function typed(word: string): string {
	return /^[\w./:=+-]+$/.test(word)
		? word
		: `'${word.replaceAll("'", `'\\''`)}'`;
}
