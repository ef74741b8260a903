import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { removeDirectory } from "./remove-directory.ts";

let directory: string | undefined;

/** The data directory of the file of tests that runs; removed after it. */
export function dataDirectory(): string {
	directory ??= mkdtempSync(join(tmpdir(), "snakepit-test-"));
	return directory;
}

/** Called after each file: all files of a process share the modules. */
export function removeDataDirectory(): void {
	if (directory !== undefined) removeDirectory(directory);
	directory = undefined;
}

/** An empty directory, removed when the test is finished. */
export function temporaryDirectory(): string {
	const path = mkdtempSync(join(tmpdir(), "snakepit-test-"));
	onTestFinished(() => removeDirectory(path));
	return path;
}
