import { dirname, resolve } from "node:path";
import { CommandFailed } from "../command/command-failed.ts";
import { write } from "../command/output.ts";
import { loadPeers } from "../command/peer-packages.ts";
import { toolTypes, writeIfChanged } from "./tool-types.ts";
import { pythonChanges } from "./watch-directory.ts";

/** Where types are written, and when. */
export interface TypesFlags {
	readonly output?: string;
	readonly watch?: true;
	readonly python?: string;
}

/** Writes the types of a file of tools, once or at each change. */
export async function writeTypes(
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
