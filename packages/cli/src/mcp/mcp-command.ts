import type { Command } from "commander";
import { inFlags } from "../command/in-flags.ts";
import { portNumber, positiveNumber } from "../command/numbers.ts";
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
			"the interpreter; found like that of python() by default",
		)
		.option(
			"--workers <number>",
			"how many calls run at once",
			positiveNumber,
			1,
		)
		.option("--name <name>", "how the server introduces itself")
		.option(
			"--http <port>",
			"over HTTP on 127.0.0.1, 0 for a free port",
			portNumber,
		)
		.option(
			"--token-file <path>",
			"the token that HTTP clients bring; made if it does not exist",
		)
		.option("--tracebacks", "clients get Python's tracebacks")
		.option(
			"--data-dir <path>",
			"where the ledger is; the user's state directory by default",
		)
		.action(async (file: string, flags: McpFlags) => {
			const { serveTools } = await import("./serve-tools.ts");
			await inFlags(serveTools(file, flags));
		});
}
