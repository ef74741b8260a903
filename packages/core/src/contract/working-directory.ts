import { isAbsolute, resolve } from "node:path";
import { StartError } from "./errors.ts";
import { withFallback } from "./thrown.ts";

/**
 * This program's working directory, which may have been removed.
 *
 * @param what needs it, as the beginning of a sentence.
 * @throws StartError `WORKING_DIRECTORY_GONE` with the remedy.
 */
export function workingDirectory(what: string): string {
	try {
		return process.cwd();
	} catch (error) {
		throw new StartError({
			code: "WORKING_DIRECTORY_GONE",
			message: `${what} needs the working directory of this program, which was removed or cannot be entered. Start the program in a directory that exists, call process.chdir() before, or give absolute paths.`,
			cause: error,
		});
	}
}

/** The same, or the root where there is none: for what does not depend on it. */
export function anyWorkingDirectory(): string {
	return withFallback("/", () => process.cwd());
}

/**
 * A path, absolute.
 *
 * @param what it is, as the beginning of a sentence.
 * @throws StartError `WORKING_DIRECTORY_GONE` for a relative one where there is no working directory.
 */
export function absolutePath(path: string, what: string): string {
	return isAbsolute(path)
		? resolve(path)
		: resolve(workingDirectory(`${what} ${JSON.stringify(path)}`), path);
}
