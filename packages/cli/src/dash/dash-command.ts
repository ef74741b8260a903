import type { Command } from "commander";
import { portNumber } from "../command/numbers.ts";
import type { DashOptions } from "./dash.ts";

/** Adds `snakepit dash`. */
export function addDash(program: Command): void {
	program
		.command("dash")
		.description("open a page that shows running programs, and runs that ended")
		.option("--run <id>", "only the run whose id begins so")
		.option("--data-dir <path>", "only runs of this data directory")
		.option(
			"--port <number>",
			"of the page; any free one by default",
			portNumber,
		)
		.option("--no-open", "only print the address")
		.option("--json", "print the address as JSON, and do not open it")
		.action(async (options: DashOptions) => {
			const { dash } = await import("./dash.ts");
			await dash(options);
		});
}
