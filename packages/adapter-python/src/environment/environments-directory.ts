import { lstatSync } from "node:fs";
import { homedir, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { makeDirectories } from "@snakepit/core/infrastructure";

/**
 * The directory that holds the environments: the given one; otherwise in the user's cache; or, if the home directory
 * cannot be written, in the temporary directory.
 *
 * @throws Error if it cannot be created, or another user could put programs into it.
 */
export function environmentsDirectory(
	given: string | undefined,
	env: Readonly<Record<string, string | undefined>>,
): string {
	if (given !== undefined) return made(given);
	try {
		return cacheDirectory("environments", env);
	} catch {
		return made(join(tmpdir(), `snakepit-environments-${userInfo().uid}`));
	}
}

/**
 * A directory of the user's cache.
 *
 * @throws Error if it cannot be created, or another user could write to it.
 */
export function cacheDirectory(
	name: "environments" | "interpreters",
	env: Readonly<Record<string, string | undefined>>,
): string {
	const cache = env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
	return made(join(cache, "snakepit", name));
}

function made(directory: string): string {
	makeDirectories(directory, 0o700);
	const facts = lstatSync(directory);
	// Its content is executed: no other user may write to it.
	if (
		!facts.isDirectory() ||
		facts.uid !== userInfo().uid ||
		(facts.mode & 0o022) !== 0
	) {
		throw new Error(
			`${directory} must be a directory of this user that no other user can write to`,
		);
	}
	return directory;
}
