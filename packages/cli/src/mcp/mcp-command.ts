import type { Command } from "commander";
import { inFlags } from "../command/failures.ts";
import { portNumber, positiveNumber } from "../command/flags.ts";
import type { McpFlags } from "./serve-tools.ts";

/** Adds `snakepit mcp TOOLS.PY`. */
export function addMcp(program: Command): void {
	program
		.command("mcp")
		.argument("<file>", "the tools, such as tools.py")
		.description(
			"serve Python tools to MCP clients, over standard input and output or HTTP",
		)
		.option(
			"--python <path>",
			"the interpreter; by default found as python() does",
		)
		.option(
			"--workers <number>",
			"number of workers, each with one call at a time",
			positiveNumber,
			1,
		)
		.option("--name <name>", "the name of the server")
		.option(
			"--http <port>",
			"serve over HTTP on 127.0.0.1; 0 for a free port",
			portNumber,
		)
		.option(
			"--token-file <path>",
			"file with the token that HTTP clients send; created if it does not exist",
		)
		.option("--tracebacks", "send Python's tracebacks to clients")
		.option(
			"--data-dir <path>",
			"where the ledger is; the user's state directory by default",
		)
		.action(async (file: string, flags: McpFlags) => {
			const { serveTools } = await import("./serve-tools.ts");
			await inFlags(serveTools(file, flags));
		});
}
