import type { Command } from "commander";
import { portNumber } from "../command/flags.ts";
import type { DashOptions } from "./dash.ts";

/** Adds `snakepit dash`. */
export function addDash(program: Command): void {
	program
		.command("dash")
		.description("open the dashboard in the browser")
		.option("--run <id>", "only this run: its id, or the beginning of it")
		.option("--data-dir <path>", "only runs of this data directory")
		.option(
			"--port <number>",
			"the port of the page; by default any free port",
			portNumber,
		)
		.option("--no-open", "only print the address")
		.option("--json", "print the address as JSON, and do not open it")
		.action(async (options: DashOptions) => {
			const { dash } = await import("./dash.ts");
			await dash(options);
		});
}
