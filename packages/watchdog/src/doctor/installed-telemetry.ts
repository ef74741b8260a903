import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Instrument } from "@snakepit/core/instrument";

const TELEMETRY = "@snakepit/telemetry";

/** The telemetry of a program in this directory; nothing where it is not installed. */
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
