import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Adapter } from "@snakepit/core/adapter";
import type { Instrument } from "@snakepit/core/instrument";

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
