/** What is told of an option: nothing, or a name in the place of somebody's path. */
const TOLD: Readonly<Record<string, string | undefined>> = {
	"--json": undefined,
	"--svg": undefined,
	"--free-threaded": "PYTHON",
};

/** How a run is made again; where its files went, or an interpreter is, is of no account. */
export function commandToRepeat(words: readonly string[]): string {
	const told: string[] = [];
	for (let at = 0; at < words.length; at++) {
		const word = words[at] ?? "";
		const [option = ""] = word.split("=");
		if (!(option in TOLD)) {
			told.push(word);
			continue;
		}
		const name = TOLD[option];
		if (name !== undefined) told.push(option, name);
		if (option === word) at++;
	}
	return ["npx pnpm@12 bench", ...told].join(" ");
}
