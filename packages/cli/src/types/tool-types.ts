import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { CommandFailed } from "../command/command-failed.ts";

const MOST_BYTES = 2 ** 26;
/** As `-m snakepit_bridge types` does, but a `json.py` in the working directory is not imported; `-P` is new in Python 3.11. */
const TYPES =
	'import sys; sys.path[:] = [entry for entry in sys.path if entry != ""]; sys.argv.insert(1, "types"); import runpy; runpy._run_module_as_main("snakepit_bridge")';
const execute = promisify(execFile);

/**
 * Generates the TypeScript types of tools; Python imports the tools for this.
 *
 * @throws CommandFailed with what Python says.
 */
export async function toolTypes(
	python: string,
	targets: readonly string[],
): Promise<string> {
	try {
		const args = ["-c", TYPES, ...targets];
		const { stdout } = await execute(python, args, { maxBuffer: MOST_BYTES });
		return stdout;
	} catch (error) {
		const { stderr = "", message } = error as Error & { stderr?: string };
		throw new CommandFailed("failed", stderr.trim() || message);
	}
}

/** Writes a text unless the file already contains it, so that programs that watch the file see no change. Returns whether it wrote. */
export function writeIfChanged(path: string, text: string): boolean {
	try {
		if (readFileSync(path, "utf8") === text) return false;
	} catch {
		// There is none yet.
	}
	writeFileSync(path, text);
	return true;
}
