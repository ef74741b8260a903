import { existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createRunDirectory } from "../../src/os/private-directory.ts";
import {
	createSharedDirectory,
	directoriesOf,
	sharedDirectoryOf,
} from "../../src/os/shared-memory.ts";
import type { RunId } from "../../src/run-id.ts";

const runId = "abc1234" as RunId;

function runDirectory(): string {
	const path = createRunDirectory(runId, "0123456789abcdef");
	onTestFinished(() => {
		for (const each of [path, sharedDirectoryOf(path)])
			rmSync(each, { recursive: true, force: true });
	});
	return path;
}

test.skipIf(!existsSync("/dev/shm"))(
	"a run has a directory of its own in shared memory, that no other user can enter, and that is named like its private one",
	() => {
		const directory = runDirectory();
		const shared = createSharedDirectory(directory);
		expect(shared).toBe(join("/dev/shm", basename(directory)));
		expect(statSync(shared as string).mode & 0o777).toBe(0o700);
		expect(directoriesOf(directory, runId)).toEqual([directory, shared]);
	},
);

test.skipIf(!existsSync("/dev/shm"))(
	"where the name is taken already there is none, and what others can enter is not taken for ours",
	() => {
		const directory = runDirectory();
		mkdirSync(sharedDirectoryOf(directory), { mode: 0o755 });
		expect(createSharedDirectory(directory)).toBeUndefined();
		expect(directoriesOf(directory, runId)).toEqual([directory]);
		expect(directoriesOf(directory, "abc1235" as RunId)).toEqual([]);
	},
);
