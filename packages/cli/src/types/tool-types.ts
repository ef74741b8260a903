import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { CommandFailed } from "../command/command-failed.ts";

const MOST_BYTES = 2 ** 26;
const execute = promisify(execFile);

/**
 * Generates the TypeScript types of tools; Python imports the tools for this.
 *
 * @param python the interpreter, and its arguments before `-m`.
 * @throws CommandFailed with what Python says.
 */
export async function toolTypes(
	python: readonly [program: string, ...args: string[]],
	targets: readonly string[],
): Promise<string> {
	try {
		const [program, ...first] = python;
		const args = [...first, "-m", "snakepit_bridge", "types", ...targets];
		const { stdout } = await execute(program, args, { maxBuffer: MOST_BYTES });
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
