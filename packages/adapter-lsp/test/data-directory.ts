import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** A ledger of this file's own, removed when its tests are over. */
export function dataDirectory(): string {
	const path = mkdtempSync(join(tmpdir(), "snakepit-lsp-"));
	afterAll(() => rmSync(path, { recursive: true, force: true }));
	return path;
}
