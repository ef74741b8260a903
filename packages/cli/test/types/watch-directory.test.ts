import { mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { pythonChanges } from "../../src/types/write-types.ts";

test("a directory that cannot be watched is an error at once, which says what to do", () => {
	const missing = join(temporaryDirectory(), "missing");
	expect(() => pythonChanges([temporaryDirectory(), missing])).toThrow(
		/missing cannot be watched: ENOENT.*Create it/,
	);
});

test("a directory that is removed ends the watch with an error", async () => {
	const directory = join(temporaryDirectory(), "tools");
	mkdirSync(directory);
	const changes = pythonChanges([directory]);
	rmdirSync(directory);
	await expect(changes.next()).rejects.toThrow(
		/tools cannot be watched: it was removed/,
	);
});

test("a change before anyone waits for it counts", async () => {
	const directory = temporaryDirectory();
	const changes = pythonChanges([directory]);
	writeFileSync(join(directory, "tools.py"), "");
	expect(await changes.next()).toEqual({ done: false, value: undefined });
	await changes.return();
});
