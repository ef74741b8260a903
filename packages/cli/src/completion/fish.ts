import type { CommandWords, OptionWords, ValueKind } from "./command-words.ts";

/** Completes in fish from version 3. */
export function fishScript(
	commands: readonly CommandWords[],
	options: readonly OptionWords[],
): string {
	return `# Completions of snakepit for fish: snakepit completion fish > ~/.config/fish/completions/snakepit.fish
complete -c snakepit -f
${[
	...options.map((option) => optionLine("__fish_use_subcommand", option)),
	...commands.flatMap(commandLines),
].join("\n")}
`;
}

function commandLines(command: CommandWords): readonly string[] {
	const { name, description, options, values } = command;
	const isGiven = `__fish_seen_subcommand_from ${name}`;
	const [value] = values;
	return [
		`complete -c snakepit -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`,
		...options.map((option) => optionLine(isGiven, option)),
		...(value === undefined || value.kind === "anything"
			? []
			: [`complete -c snakepit -n ${quoted(isGiven)} ${taking(value)}`]),
		// What follows -- is another command.
		...(name === "run"
			? [
					`complete -c snakepit -n ${quoted(isGiven)} -a '(__fish_complete_subcommand --fcs-skip=2)'`,
				]
			: []),
	];
}

function optionLine(
	condition: string,
	{ names, description, value }: OptionWords,
): string {
	const written = names.map((name) =>
		name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
	);
	const taken = value === undefined ? "" : ` -r ${taking(value)}`;
	return `complete -c snakepit -n ${quoted(condition)} ${written.join(" ")} -d ${quoted(description)}${taken}`.trimEnd();
}

function taking(value: ValueKind): string {
	switch (value.kind) {
		case "file":
			return "-F";
		case "directory":
			return "-a '(__fish_complete_directories)'";
		case "name":
			return `-a '(command snakepit names ${value.of} 2>/dev/null)'`;
		case "words":
			return `-a ${quoted(value.words.join(" "))}`;
		case "anything":
			return "";
	}
}

function quoted(text: string): string {
	return `'${text.replace(/[\\']/g, "\\$&")}'`;
}
