import { type Dirent, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { sharedDirectoryOf } from "../packages/core/src/os/shared-memory.ts";

/** What a run calls its private directory, there and in shared memory. */
export const RUN_DIRECTORY: RegExp = /^snakepit-[0-9a-z]{7,}-[0-9A-Za-z]{10}$/;

/**
 * Removes a directory in which hosts ran, and what they had in shared memory. One
 * that was killed leaves that to the next start on its ledger, which in tests never
 * comes.
 */
export function removeDirectory(path: string): void {
	for (const run of runDirectoriesIn(path)) removeRunDirectory(run);
	// A process that is ending may write there once more.
	rmSync(path, { recursive: true, force: true, maxRetries: 3 });
}

/** Removes the private directory of a run whose host is dead, and what that had in shared memory. */
export function removeRunDirectory(path: string): void {
	rmSync(sharedDirectoryOf(path), { recursive: true, force: true });
	rmSync(path, { recursive: true, force: true });
}

function runDirectoriesIn(path: string): readonly string[] {
	return entriesOf(path)
		.filter((entry) => entry.isDirectory())
		.map(({ name }) => ({ name, at: join(path, name) }))
		.flatMap(({ name, at }) =>
			RUN_DIRECTORY.test(name) ? [at] : runDirectoriesIn(at),
		);
}

/** What is gone meanwhile, or not ours to read, has nothing to remove. */
function entriesOf(path: string): readonly Dirent[] {
	try {
		return readdirSync(path, { withFileTypes: true });
	} catch {
		return [];
	}
}
