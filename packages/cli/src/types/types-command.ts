import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { CommandFailed } from "../command/command-failed.ts";
import { inFlags } from "../command/in-flags.ts";
import { write } from "../command/output.ts";
import { loadPeers } from "../command/peer-packages.ts";
import { toolTypes, writeIfChanged } from "./tool-types.ts";
import { pythonChanges } from "./watch-directory.ts";

interface TypesFlags {
	readonly output?: string;
	readonly watch?: true;
	readonly python?: string;
}

/** Adds `snakepit types TOOLS.PY`. */
export function addTypes(program: Command): void {
	program
		.command("types")
		.argument("<file>", "the tools, such as tools.py")
		.description("write the TypeScript types of Python tools")
		.option("--output <file>", "such as tools.ts; standard output by default")
		.option("--watch", "again when a Python file beside the tools changes")
		.option(
			"--python <path>",
			"the interpreter; found like that of python() by default",
		)
		.action((file: string, flags: TypesFlags) => inFlags(types(file, flags)));
}

async function types(
	file: string,
	{ output, watch, python }: TypesFlags,
): Promise<void> {
	if (watch && output === undefined)
		throw new CommandFailed("usage", "--watch needs --output.");
	const { findPython } = await loadPeers(
		["@snakepit/adapter-python"],
		() => import("@snakepit/adapter-python"),
	);
	const program = await findPython({ tools: file, python });
	const once = async (): Promise<void> => {
		const text = await toolTypes(program, file);
		if (output === undefined) write(text);
		else if (writeIfChanged(output, text)) write(`Wrote ${output}.`);
		else if (!watch) write(`${output} is up to date.`);
	};
	if (!watch) return await once();
	// From before the first: no change is lost.
	const changes = pythonChanges(dirname(resolve(file)));
	const first = changes.next();
	await onceOrWhy(once);
	if ((await first).done) return;
	await onceOrWhy(once);
	for await (const _ of changes) await onceOrWhy(once);
}

/** What is wrong now may be right after the next change. */
async function onceOrWhy(once: () => Promise<void>): Promise<void> {
	try {
		await once();
	} catch (error) {
		process.stderr.write(`snakepit: ${(error as Error).message}\n`);
	}
}
