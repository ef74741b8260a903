import type { Command, Option } from "commander";
import type { NameKind } from "./name-kinds.ts";

/** What a shell can complete for a value. */
export type ValueKind =
	| { readonly kind: "file" | "directory" | "anything" }
	/** The output of `snakepit names` when the user presses the completion key. */
	| { readonly kind: "name"; readonly of: NameKind }
	| { readonly kind: "words"; readonly words: readonly string[] };

/** An option of a command. */
export interface OptionWords {
	/** As it is written: `-a`, `--all`. */
	readonly names: readonly string[];
	readonly description: string;
	/** `undefined` if it takes none. */
	readonly value: ValueKind | undefined;
}

/** The parts of a command that a shell needs. */
export interface CommandWords {
	readonly name: string;
	readonly description: string;
	readonly options: readonly OptionWords[];
	/** In order; the last one of a list applies to all that follow. */
	readonly values: readonly ValueKind[];
}

const HELP: OptionWords = {
	names: ["-h", "--help"],
	description: "print this help",
	value: undefined,
};

/** All commands, read from the parser. */
export function commandWords(program: Command): readonly CommandWords[] {
	const shown = program.createHelp().visibleCommands(program);
	return shown.map((command) => ({
		name: command.name(),
		description: command.description(),
		options: optionsOf(command),
		values: command.registeredArguments.map((argument) =>
			valueKind(argument.argChoices, argument.name()),
		),
	}));
}

/** The options of a command; options of the program stand before the command. */
export function optionsOf(command: Command): readonly OptionWords[] {
	const own = command.options
		.filter(({ hidden }) => !hidden)
		.map((option) => ({
			names: [option.short, option.long].flatMap((name) => name ?? []),
			description: option.description,
			value: takesValue(option)
				? valueKind(
						option.argChoices,
						/[<[](.+?)[>\]]/.exec(option.flags)?.[1] ?? "",
						`${command.name()} ${option.long}`,
					)
				: undefined,
		}));
	return [...own, HELP];
}

function takesValue({ required, optional }: Option): boolean {
	return required || optional;
}

function valueKind(
	choices: readonly string[] | undefined,
	placeholder: string,
	option: string | undefined = undefined,
): ValueKind {
	if (choices !== undefined) return { kind: "words", words: choices };
	if (option?.endsWith(" --data-dir") || placeholder === "folder")
		return { kind: "directory" };
	const of = option === undefined ? ARGUMENTS[placeholder] : nameOf(option);
	if (of !== undefined) return { kind: "name", of };
	return { kind: /^(file|path)$/.test(placeholder) ? "file" : "anything" };
}

/** Of arguments. */
const ARGUMENTS: Readonly<Record<string, NameKind>> = {
	worker: "workers",
	tool: "tools",
};

/** Of the option of a command. */
function nameOf(option: string): NameKind | undefined {
	if (option === "reap --run") return "dead-runs";
	if (/^(ps|history|incidents) --run$/.test(option)) return "recorded-runs";
	if (option.endsWith(" --run")) return "runs";
	if (option.endsWith(" --pool")) return "pools";
	return option.endsWith(" --worker") ? "workers" : undefined;
}
