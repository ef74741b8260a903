import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";

let directory: string | undefined;

/** A data directory for the tests of one file, removed after them. */
export function dataDirectory(): string {
	directory ??= mkdtempSync(join(tmpdir(), "snakepit-test-"));
	return directory;
}

afterAll(() => {
	if (directory !== undefined) rmSync(directory, { recursive: true });
	directory = undefined;
});

/** An empty directory, removed when the test is finished. */
export function temporaryDirectory(): string {
	const path = mkdtempSync(join(tmpdir(), "snakepit-test-"));
	onTestFinished(() => rmSync(path, { recursive: true, force: true }));
	return path;
}
