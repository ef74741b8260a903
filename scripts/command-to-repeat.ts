/**
 * Returns the command that repeats a run, as it is typed, without paths of this machine.
 *
 * @param name the script as `package.json` has it.
 * @param paths options with a path: left out, or with this word instead of the path.
 */
export function commandToRepeat(
	name: string,
	words: readonly string[],
	paths: Readonly<Record<string, string | undefined>>,
): string {
	const kept: string[] = [];
	for (let at = 0; at < words.length; at++) {
		const word = words[at] ?? "";
		const [option = ""] = word.split("=");
		if (!(option in paths)) {
			kept.push(quoted(word));
			continue;
		}
		const instead = paths[option];
		if (instead !== undefined) kept.push(option, instead);
		if (option === word) at++;
	}
	return [`npx pnpm@12 ${name}`, ...kept].join(" ");
}

function quoted(word: string): string {
	return /^[\w./:=,+-]+$/.test(word)
		? word
		: `'${word.replaceAll("'", `'\\''`)}'`;
}
