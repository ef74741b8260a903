import type { Command } from "commander";
import { bashScript } from "./bash.ts";
import {
	type CommandWords,
	commandWords,
	type OptionWords,
	optionsOf,
} from "./command-words.ts";
import { fishScript } from "./fish.ts";
import type { Shell } from "./shells.ts";
import { zshScript } from "./zsh.ts";

const WRITERS: Readonly<
	Record<
		Shell,
		(
			commands: readonly CommandWords[],
			options: readonly OptionWords[],
		) => string
	>
> = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** The script that makes a shell complete a program. */
export function shellScript(shell: Shell, program: Command): string {
	return WRITERS[shell](commandWords(program), optionsOf(program));
}
