import { Argument, type Command } from "commander";
import { write } from "../command/output.ts";
import { NAME_KINDS, type NameKind } from "./name-kinds.ts";
import { SHELLS, type Shell } from "./shells.ts";

/** Adds `snakepit completion SHELL`, which is made from the parser's own commands. */
export function addCompletion(program: Command): void {
	program
		.command("completion")
		.description("print a completion script for a shell")
		.addArgument(new Argument("<shell>", "which one").choices(SHELLS))
		.action(async (shell: Shell) => {
			const { shellScript } = await import("./shell-script.ts");
			write(shellScript(shell, program));
		});
	program
		.command("names", { hidden: true })
		.description("print names of living runs, for completions")
		.addArgument(new Argument("<kind>", "of what").choices(NAME_KINDS))
		.action(async (kind: NameKind) => {
			const { names } = await import("./names.ts");
			for (const name of await names(kind)) write(name);
		});
}
