import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../../../..");

/** Code that compares the state of a process in /proc with that of one that has ended, in each language. */
const READS_STATE = /\[ZXx?\]|['"][ZX]['"]\)?\s*[|,)]/;
/** Where the number of threads is asked as well. */
const ASKS_THREADS = /THREADS|number\(20\)|\/task/;

test("whatever reads the state of a process also asks for its threads", () => {
	const readers = globSync(
		["packages/*/src/**/*.ts", "python/src/**/*.py", "native/src/**/*.c"],
		{ cwd: ROOT },
	).filter((file) => {
		const text = readFileSync(join(ROOT, file), "utf8");
		return text.includes("/stat") && READS_STATE.test(text);
	});
	expect(readers.sort()).toEqual([
		"native/src/guard/process-table.c",
		"packages/core/src/os/process-table.ts",
		"python/src/snakepit_bridge/boot/lifeline.py",
	]);
	for (const file of readers)
		expect(readFileSync(join(ROOT, file), "utf8"), file).toMatch(ASKS_THREADS);
});
