import type { CommandWords, OptionWords, ValueKind } from "./command-words.ts";

/** Completes in zsh, sourced or as the file `_snakepit` in a directory of `$fpath`. */
export function zshScript(
	commands: readonly CommandWords[],
	options: readonly OptionWords[],
): string {
	return `#compdef snakepit
# Completions of snakepit for zsh. In ~/.zshrc, after compinit: source <(snakepit completion zsh)
_snakepit_names() {
	compadd -- \${(f)"$(command snakepit names $1 2>/dev/null)"}
}

_snakepit() {
	local context state state_descr line
	typeset -A opt_args
	_arguments -C \\
${options.map((option) => `\t\t${optionSpec(option)} \\\n`).join("")}		'1: :->command' \\
		'*:: :->rest'
	case $state in
	command)
		local -a commands
		commands=(
${commands.map(({ name, description }) => `\t\t\t${quoted(`${name}:${description}`)}`).join("\n")}
		)
		_describe command commands
		;;
	rest)
		case $line[1] in
${commands.map(commandCase).join("\n")}
		esac
		;;
	esac
}

if [[ $funcstack[1] == _snakepit ]]; then _snakepit "$@"; else compdef _snakepit snakepit; fi
`;
}

function commandCase({ name, options, values }: CommandWords): string {
	const specs = [
		...options.map(optionSpec),
		...values.map((value) => quoted(`: :${action(value)}`)),
		// What follows -- is another command.
		...(name === "run" ? ["'*:: :_normal'"] : []),
	];
	return `\t\t${name}) _arguments ${specs.join(" ")} ;;`;
}

function optionSpec({ names, description, value }: OptionWords): string {
	const text = description.replace(/[[\]:]/g, "\\$&");
	const taken = value === undefined ? "" : `: :${action(value)}`;
	const others = names.length > 1 ? `'(${names.join(" ")})'` : "";
	const written = names.length > 1 ? `{${names.join(",")}}` : names[0];
	return `${others}${written}${quoted(`[${text}]${taken}`)}`;
}

function action(value: ValueKind): string {
	switch (value.kind) {
		case "file":
			return "_files";
		case "directory":
			return "_files -/";
		case "name":
			return `{_snakepit_names ${value.of}}`;
		case "words":
			return `(${value.words.join(" ")})`;
		case "anything":
			return "";
	}
}

function quoted(text: string): string {
	return `'${text.replaceAll("'", "'\\''")}'`;
}
