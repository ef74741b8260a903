import type { Command } from "commander";
import { inFlags } from "../command/failures.ts";
import type { TypesFlags } from "./write-types.ts";

/** Adds `snakepit types TOOLS...`. */
export function addTypes(program: Command): void {
	program
		.command("types")
		.argument(
			"<file...>",
			"the tools: tools.py, package.module, or math:sqrt,gcd",
		)
		.description("write the TypeScript types of Python tools")
		.option(
			"--output <file>",
			"a file such as tools.ts; by default standard output",
		)
		.option(
			"--watch",
			"regenerate when a Python file next to the tools changes",
		)
		.option(
			"--python <path>",
			"the interpreter; by default found as python() does",
		)
		.action(async (targets: string[], flags: TypesFlags) => {
			const { writeTypes } = await import("./write-types.ts");
			await inFlags(writeTypes(targets, flags));
		});
}
