import type { CommandWords, OptionWords, ValueKind } from "./command-words.ts";

/** Completes in bash from version 3.2, without further packages. */
export function bashScript(
	commands: readonly CommandWords[],
	options: readonly OptionWords[],
): string {
	const valued = new Set(
		[...options, ...commands.flatMap((command) => command.options)]
			.filter(({ value }) => value !== undefined)
			.flatMap(({ names }) => names),
	);
	return `# Completions of snakepit for bash. In ~/.bashrc: source <(snakepit completion bash)
_snakepit_files() {
	compopt -o filenames 2>/dev/null
	local IFS=$'\\n'
	COMPREPLY=($(compgen "$1" -- "$cur"))
}

# A name is taken as it is: compgen -W would expand it.
_snakepit_names() {
	local name
	while IFS= read -r name; do
		if [[ $name == "$cur"* ]]; then COMPREPLY+=("$name"); fi
	done < <(command snakepit names "$1" 2>/dev/null)
}

_snakepit() {
	local cur=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
	local command="" values=0 position
	COMPREPLY=()
	for ((position = 1; position < COMP_CWORD; position++)); do
		case \${COMP_WORDS[position]} in
		--)
			# What follows is another command.
			if ((position == COMP_CWORD - 1)); then COMPREPLY=($(compgen -c -- "$cur")); else _snakepit_files -f; fi
			return
			;;
		${[...valued].join(" | ")}) ((position++)) ;;
		-*) ;;
		*)
			if [[ -z $command ]]; then command=\${COMP_WORDS[position]}; else ((values++)); fi
			;;
		esac
	done
	case "$command $previous" in
${commands.flatMap(({ name, options }) => options.flatMap((option) => optionValue(name, option))).join("\n")}
	esac
	local words=""
	case $command in
	"") words="${[...commands.map(({ name }) => name), ...options.flatMap(({ names }) => names)].join(" ")}" ;;
${commands.map(commandCase).join("\n")}
	esac
	if [[ $cur == -* || -z $command ]]; then COMPREPLY=($(compgen -W "$words" -- "$cur")); fi
}

complete -F _snakepit snakepit
`;
}

/** What completes the value of an option. */
function optionValue(
	command: string,
	{ names, value }: OptionWords,
): readonly string[] {
	if (value === undefined) return [];
	const pattern = names.map((name) => `"${command} ${name}"`).join(" | ");
	return [`\t${pattern}) ${completing(value)}; return ;;`];
}

function commandCase({ name, options, values }: CommandWords): string {
	const words = options.flatMap(({ names }) => names).join(" ");
	const [value] = values;
	const first =
		value === undefined || value.kind === "anything"
			? ""
			: ` if ((values == 0)) && [[ $cur != -* ]]; then ${completing(value)}; fi ;`;
	return `\t${name}) words="${words}" ;${first};`;
}

function completing(value: ValueKind): string {
	switch (value.kind) {
		case "file":
			return "_snakepit_files -f";
		case "directory":
			return "_snakepit_files -d";
		case "name":
			return `_snakepit_names ${value.of}`;
		case "words":
			return `COMPREPLY=($(compgen -W "${value.words.join(" ")}" -- "$cur"))`;
		case "anything":
			return ":";
	}
}
