import { Argument, type Command } from "commander";
import { write } from "../command/output.ts";
import { SHELLS, type Shell } from "./shells.ts";

/** Adds `snakepit completion SHELL`, which knows what the parser knows. */
export function addCompletion(program: Command): void {
	program
		.command("completion")
		.description("print what makes a shell complete this command")
		.addArgument(new Argument("<shell>", "which one").choices(SHELLS))
		.action(async (shell: Shell) => {
			const { shellScript } = await import("./shell-script.ts");
			write(shellScript(shell, program));
		});
}
