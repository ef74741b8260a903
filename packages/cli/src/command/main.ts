import { Command, CommanderError } from "commander";
import { addDash } from "../dash/dash-command.ts";
import { addDoctor } from "../doctor/doctor-command.ts";
import { VERSION } from "../gen/version.ts";
import { addInit } from "../init/init-command.ts";
import { addLiveCommands } from "../live/live-commands.ts";
import { addMcp } from "../mcp/mcp-command.ts";
import { addCalls } from "../runs/calls-command.ts";
import { addRuns } from "../runs/runs-commands.ts";
import { addTypes } from "../types/types-command.ts";
import {
	CommandFailed,
	EXIT_STATUS,
	jsonFailure,
	outputFailed,
} from "./failures.ts";

/** Runs a command other than `run`, and sets the exit status of this process. */
export async function main(args: readonly string[]): Promise<void> {
	const isJson = args.includes("--json");
	const program = new Command("snakepit")
		.description(
			"Runs commands that leave no processes behind, and inspects and controls programs that use Snakepit.",
		)
		.version(VERSION, "-V, --version", "print the version")
		.helpOption("-h, --help", "print this help")
		.helpCommand(false)
		.showHelpAfterError(
			isJson ? false : "Run it with --help to see its options.",
		)
		.option("--no-color", "print no colours, as with the variable NO_COLOR")
		.on("option:no-color", () => {
			process.env["NO_COLOR"] = "1";
		})
		.configureOutput({
			outputError: (text, write) => {
				const message = text.replace(/^error: /, "");
				write(isJson ? jsonFailure("usage", message) : `snakepit: ${message}`);
			},
		})
		.exitOverride();
	// bin/snakepit and snakepit.ts handle it before they load this file. It is here for the list of commands.
	program
		.command("run")
		.usage("[--grace TIME] [--with-stdin] [--verbose] -- COMMAND [ARGUMENT...]")
		.option("--grace <time>", "from SIGTERM to SIGKILL")
		.option(
			"--with-stdin",
			"also end it when nobody can write to its standard input",
		)
		.option("--verbose", "report what was killed, and why")
		.description("run a command and leave none of its processes behind");
	addMcp(program);
	addLiveCommands(program);
	addDash(program);
	addRuns(program);
	addCalls(program);
	addDoctor(program);
	addInit(program);
	addTypes(program);
	process.stdout.on("error", outputFailed);
	try {
		await program.parseAsync(args, { from: "user" });
	} catch (error) {
		process.exitCode = explained(error, isJson);
	}
}

/** Writes the reason of a failure, and returns the exit status. */
function explained(error: unknown, isJson: boolean): number {
	// It has written its message itself.
	if (error instanceof CommanderError)
		return error.exitCode === 0 ? 0 : EXIT_STATUS.usage;
	const { message } = error as Error;
	const failure = error instanceof CommandFailed ? error.failure : "failed";
	process.stderr.write(
		isJson ? jsonFailure(failure, message) : `snakepit: ${message}\n`,
	);
	return EXIT_STATUS[failure];
}
