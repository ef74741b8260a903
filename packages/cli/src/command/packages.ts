import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Adapter } from "@snakepit/core/adapter";
import type { Instrument } from "@snakepit/core/instrument";
import { CommandFailed } from "./failures.ts";

/** The path of a directory that is installed with this package. */
export function packageDirectory(name: string): string {
	const manifest = createRequire(import.meta.url).resolve(
		"@snakepit/cli/package.json",
	);
	return join(dirname(manifest), name);
}

/**
 * Loads packages that not every user installs with this one.
 *
 * @param names for the message: what to install.
 */
export async function loadPeers<Loaded>(
	names: readonly string[],
	load: () => Promise<Loaded>,
): Promise<Loaded> {
	try {
		return await load();
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND")
			throw error;
		throw new CommandFailed(
			"failed",
			`A package is missing: ${(error as Error).message}. Run: npm install ${names.join(" ")}`,
		);
	}
}

/** Returns the telemetry package that is installed for programs in this directory, if there is one. */
export async function installedTelemetry(
	directory: string,
): Promise<readonly Instrument[]> {
	const installed = await importFrom<{ telemetry: () => Instrument }>(
		directory,
		"@snakepit/telemetry",
	);
	return installed === undefined ? [] : [installed.telemetry()];
}

/** Returns the adapter for Python that is installed for programs in this directory, if there is one. */
export async function installedPython(
	directory: string,
): Promise<readonly Adapter[]> {
	const installed = await importFrom<{
		python: (options: { tools: string; cwd: string }) => Adapter;
	}>(directory, "@snakepit/adapter-python");
	const tools = join(directory, "tools.py");
	return installed === undefined
		? []
		: [installed.python({ tools, cwd: directory })];
}

async function importFrom<Module>(
	directory: string,
	name: string,
): Promise<Module | undefined> {
	let path: string;
	try {
		path = createRequire(join(directory, "program.js")).resolve(name);
	} catch {
		return undefined;
	}
	return (await import(pathToFileURL(path).href)) as Module;
}
