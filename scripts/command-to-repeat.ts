/** The command that repeats a run of a script, as it is typed, without paths of this machine. */
export function commandToRepeat(
	name: string,
	words: readonly string[],
): string {
	return [`npx pnpm@12 ${name}`, ...words.map(quoted)]
		.join(" ")
		.replace(/ --json[ =]('[^']*'|\S+)/, "")
		.replace(/( --free-threaded[ =])('[^']*'|\S+)/, "$1PYTHON");
}

function quoted(word: string): string {
	return /^[\w./:=,+-]+$/.test(word)
		? word
		: `'${word.replaceAll("'", `'\\''`)}'`;
}
