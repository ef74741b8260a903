import {
	mkdirSync,
	mkdtempSync,
	rmdirSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { pythonChanges } from "../../src/types/write-types.ts";

function place(): string {
	const path = mkdtempSync(join(tmpdir(), "snakepit-watch-"));
	onTestFinished(() => rmSync(path, { recursive: true, force: true }));
	return path;
}

test("a directory that cannot be watched is an error at once, which says what to do", () => {
	const missing = join(place(), "missing");
	expect(() => pythonChanges([place(), missing])).toThrow(
		/missing cannot be watched: ENOENT.*Create it/,
	);
});

test("a directory that is removed ends the watch with an error", async () => {
	const directory = join(place(), "tools");
	mkdirSync(directory);
	const changes = pythonChanges([directory]);
	rmdirSync(directory);
	await expect(changes.next()).rejects.toThrow(
		/tools cannot be watched: it was removed/,
	);
});

test("a change before anyone waits for it counts", async () => {
	const directory = place();
	const changes = pythonChanges([directory]);
	writeFileSync(join(directory, "tools.py"), "");
	expect(await changes.next()).toEqual({ done: false, value: undefined });
	await changes.return();
});
