import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes a directory that goes with this process. */
export function temporaryDirectory(): string {
	const path = mkdtempSync(join(tmpdir(), "snakepit-bench-"));
	process.on("exit", () => rmSync(path, { recursive: true, force: true }));
	return path;
}
