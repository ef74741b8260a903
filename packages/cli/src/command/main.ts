import { Command, CommanderError } from "commander";
import { VERSION } from "../gen/version.ts";

/** What every command ends with. */
const WRONG_ARGUMENTS = 2;

/** Runs a command other than `run`, and sets the exit status of this process. */
export async function main(args: readonly string[]): Promise<void> {
	const program = new Command("snakepit")
		.description(
			"Runs commands so that nothing of them stays behind, and shows what Snakepit's programs do.",
		)
		.version(VERSION, "-V, --version", "print the version")
		.helpOption("-h, --help", "print this")
		.helpCommand(false)
		.exitOverride();
	// bin/snakepit and snakepit.ts do it before anything of this is loaded: here it is for the list of commands.
	program
		.command("run")
		.usage("[--grace TIME] [--with-stdin] [--verbose] -- COMMAND [ARGUMENT...]")
		.description("run a command so that nothing of it stays behind");
	try {
		await program.parseAsync(args, { from: "user" });
	} catch (error) {
		if (!(error instanceof CommanderError)) throw error;
		if (error.exitCode !== 0) process.exitCode = WRONG_ARGUMENTS;
	}
}
