import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Instrument } from "@snakepit/core/instrument";

const TELEMETRY = "@snakepit/telemetry";

/** Returns the telemetry that is installed for programs in this directory, if it is. */
export async function installedTelemetry(
	directory: string,
): Promise<readonly Instrument[]> {
	let path: string;
	try {
		path = createRequire(join(directory, "program.js")).resolve(TELEMETRY);
	} catch {
		return [];
	}
	const { telemetry } = (await import(pathToFileURL(path).href)) as {
		readonly telemetry: () => Instrument;
	};
	return [telemetry()];
}
