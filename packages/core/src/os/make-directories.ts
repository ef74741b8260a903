import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { absolutePath } from "../contract/working-directory.ts";

/**
 * Makes a directory and those above it that are not there, all with `mode`;
 * one that is there already is left as it is.
 *
 * Not `mkdirSync` with `recursive`: that tries for ever, and the program with
 * it, where the directory above is there and the file system says "no such
 * file" all the same, as `/proc` does and automounted ones may.
 *
 * @throws StartError `WORKING_DIRECTORY_GONE`, or Error the system's, such as `ENOENT`, `EACCES`, `ENOTDIR`, `EROFS`.
 */
export function makeDirectories(path: string, mode: number): void {
	const missing: string[] = [];
	let place = absolutePath(path, "The directory");
	while (!isDirectory(place) && place !== dirname(place)) {
		missing.unshift(place);
		place = dirname(place);
	}
	for (const directory of missing) make(directory, mode);
}

function make(directory: string, mode: number): void {
	try {
		mkdirSync(directory, { mode });
	} catch (error) {
		// Another program may have made it since.
		if (!isDirectory(directory)) throw error;
	}
}

function isDirectory(path: string): boolean {
	return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
