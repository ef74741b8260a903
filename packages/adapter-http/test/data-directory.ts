import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

let directory: string | undefined;

/** A ledger of this file's own, removed when its tests are over. */
export function dataDirectory(): string {
	directory ??= mkdtempSync(join(tmpdir(), "snakepit-http-"));
	return directory;
}

afterAll(() => {
	if (directory !== undefined) rmSync(directory, { recursive: true });
	directory = undefined;
});
