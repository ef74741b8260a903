import {
	lstatSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmdirSync,
	unlinkSync,
} from "node:fs";
import { basename, join } from "node:path";
import type { RunId } from "../contract/identity.ts";
import { withFallback } from "../contract/thrown.ts";
import { findRunDirectories, isRunDirectory } from "./private-directory.ts";

/** Where Linux keeps files in memory, also those with a name. Source: shm_overview(7), sem_overview(7). */
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
	return withFallback(undefined, () => {
		mkdirSync(path, { mode: 0o700 });
		return path;
	});
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
	const directories = [runDirectory, ...findRunDirectories(runId, ownerKey)];
	return [...new Set(directories)].flatMap((path) =>
		directoriesOf(path, runId),
	);
}

/** One for each process of a worker that has named something; see docs/bridge-protocol.md, section 9. */
const RECORD = /^names-[1-9][0-9]{0,9}$/;
/** No path, nor a way out of the directory. */
const LINE = /^([+-]) ([^/\s]{1,255}) (\d{1,20}|\*) (\d{1,20}|\*)$/;

/** A file, not only its name: another program may have the name by now. */
interface Named {
	readonly name: string;
	readonly device: string;
	readonly inode: string;
}

/**
 * Removes the shared memory and the semaphores that the processes of a dead worker named and left: Python's
 * `multiprocessing`, loky and joblib have processes that do so, and these are killed with the worker. Each is removed only
 * if it is the very file that was created there, and this user's; a directory, with the files in it.
 *
 * @param directory that of the worker, or of its run. Must be private: what can be written there is believed.
 */
export function removeNamedMemory(directory: string): void {
	for (const named of leftIn(recordsIn(directory))) remove(named);
}

/** The records in a directory and in those in it. */
function recordsIn(directory: string): readonly string[] {
	const own = entriesOf(directory);
	const inner = own
		.filter((entry) => entry.isDirectory())
		.flatMap(({ name }) => {
			const path = join(directory, name);
			return entriesOf(path).map((entry) => ({ path, entry }));
		});
	return [...own.map((entry) => ({ path: directory, entry })), ...inner]
		.filter(({ entry }) => entry.isFile() && RECORD.test(entry.name))
		.map(({ path, entry }) => join(path, entry.name));
}

function entriesOf(path: string) {
	// Fallback: it is a file, or gone.
	return withFallback([], () => readdirSync(path, { withFileTypes: true }));
}

/** What the records have as created and not as removed. */
function leftIn(paths: readonly string[]): readonly Named[] {
	const created = new Map<string, Named>();
	const removed = new Set<string>();
	for (const path of paths)
		for (const line of textOf(path).split("\n")) {
			const [, sign, name = "", device = "", inode = ""] =
				LINE.exec(line) ?? [];
			const key = `${name} ${device} ${inode}`;
			if (sign === "+") created.set(key, { name, device, inode });
			else if (sign === "-") removed.add(key);
		}
	return [...created].flatMap(([key, named]) =>
		removed.has(key) || removed.has(`${named.name} * *`) ? [] : named,
	);
}

function textOf(path: string): string {
	return withFallback("", () => readFileSync(path, "utf8"));
}

function remove({ name, device, inode }: Named): void {
	const path = join(SHARED_MEMORY, name);
	try {
		const stats = lstatSync(path, { bigint: true });
		const isIt =
			`${stats.dev}` === device &&
			`${stats.ino}` === inode &&
			stats.uid === BigInt(process.getuid?.() ?? -1);
		if (!isIt) return;
		if (stats.isFile()) unlinkSync(path);
		// Of one that others can write to, the content is not known to be the worker's.
		else if (stats.isDirectory() && (stats.mode & 0o022n) === 0n) empty(path);
	} catch {
		// It is gone, or somebody else may remove it.
	}
}

/** Removes a directory and the files in it, but nothing below another directory. */
function empty(path: string): void {
	for (const entry of entriesOf(path))
		if (entry.isFile()) unlinkSync(join(path, entry.name));
	rmdirSync(path);
}
