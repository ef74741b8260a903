import { dirname } from "node:path";
import type { ToolSource } from "@snakepit/adapter-python";
import { absolutePath, workingDirectory } from "@snakepit/core/adapter";
import { CommandFailed } from "../command/command-failed.ts";
import { write } from "../command/output.ts";
import { loadPeers } from "../command/peer-packages.ts";
import { toolSources } from "./tool-sources.ts";
import { toolTypes, writeIfChanged } from "./tool-types.ts";
import { pythonChanges } from "./watch-directory.ts";

/** Where types are written, and when. */
export interface TypesFlags {
	readonly output?: string;
	readonly watch?: true;
	readonly python?: string;
}

/** Writes the types of tools, once or at each change. */
export async function writeTypes(
	targets: readonly string[],
	{ output, watch, python }: TypesFlags,
): Promise<void> {
	if (watch && output === undefined)
		throw new CommandFailed("usage", "--watch needs --output.");
	const { findPython } = await loadPeers(
		["@snakepit/adapter-python"],
		() => import("@snakepit/adapter-python"),
	);
	const sources = toolSources(targets);
	const program = await findPython({ tools: sources, python });
	const once = async (): Promise<void> => {
		const text = await toolTypes(program, targets);
		if (output === undefined) write(text);
		else if (writeIfChanged(output, text)) write(`Wrote ${output}.`);
		else if (!watch) write(`${output} is up to date.`);
	};
	if (!watch) return await once();
	// Started before the first writing, so no change is missed.
	const changes = pythonChanges(directoriesOf(sources));
	await onceOrWhy(once);
	for await (const _ of changes) await onceOrWhy(once);
}

/** Python looks for modules in the current directory first. */
function directoriesOf(sources: readonly ToolSource[]): ReadonlySet<string> {
	return new Set(
		sources.map(({ file }) =>
			file === undefined
				? workingDirectory("A module of tools")
				: dirname(absolutePath(String(file), "The file of tools")),
		),
	);
}

/** The next change may mend the error. */
async function onceOrWhy(once: () => Promise<void>): Promise<void> {
	try {
		await once();
	} catch (error) {
		process.stderr.write(`snakepit: ${(error as Error).message}\n`);
	}
}
