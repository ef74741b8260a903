import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { RunId } from "../contract/identity.ts";
import { findRunDirectories, isRunDirectory } from "./private-directory.ts";

/** Where Linux keeps files in memory that any process may map. Source: shm_overview(7). */
const SHARED_MEMORY = "/dev/shm";

/**
 * The directory of a run in shared memory. Its name is that of the run's private
 * directory, which is on record: so a cleanup that removes the one finds the other.
 */
export function sharedDirectoryOf(runDirectory: string): string {
	return join(SHARED_MEMORY, basename(runDirectory));
}

/** Makes it, for this user alone. Returns `undefined` where there is no shared memory, or it cannot be written. */
export function createSharedDirectory(
	runDirectory: string,
): string | undefined {
	const path = sharedDirectoryOf(runDirectory);
	try {
		mkdirSync(path, { mode: 0o700 });
		return path;
	} catch {
		return undefined;
	}
}

/** The directories of a run that are there, and its own: what to remove when it has ended. */
export function directoriesOf(
	runDirectory: string,
	runId: RunId,
): readonly string[] {
	return [runDirectory, sharedDirectoryOf(runDirectory)].filter((path) =>
		isRunDirectory(path, runId),
	);
}

/**
 * The same of a dead run. What its record names is the latest one; those before it, which belong to the user that the
 * program was then, have the run in their names.
 */
export function directoriesOfDead(
	runDirectory: string,
	runId: RunId,
	ownerKey: string,
): readonly string[] {
	const places = [runDirectory, ...findRunDirectories(runId, ownerKey)];
	return [...new Set(places)].flatMap((path) => directoriesOf(path, runId));
}
