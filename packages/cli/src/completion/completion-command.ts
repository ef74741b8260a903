import { Argument, type Command } from "commander";
import { write } from "../command/output.ts";
import { bashScript } from "./bash.ts";
import {
	type CommandWords,
	commandWords,
	type OptionWords,
	optionsOf,
} from "./command-words.ts";
import { fishScript } from "./fish.ts";
import { zshScript } from "./zsh.ts";

type Writer = (
	commands: readonly CommandWords[],
	options: readonly OptionWords[],
) => string;

const WRITERS = {
	bash: bashScript,
	zsh: zshScript,
	fish: fishScript,
} satisfies Readonly<Record<string, Writer>>;

/** Adds `snakepit completion SHELL`, which knows what the parser knows. */
export function addCompletion(program: Command): void {
	program
		.command("completion")
		.description("print what makes a shell complete this command")
		.addArgument(
			new Argument("<shell>", "which one").choices(Object.keys(WRITERS)),
		)
		.action((shell: keyof typeof WRITERS) => {
			write(WRITERS[shell](commandWords(program), optionsOf(program)));
		});
}
