import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Area, LEFT_OUT } from "./areas.ts";

/**
 * The tests that import one of the files themselves: those that state what its
 * decisions are. All tests of the area where no test does, or no file is named.
 */
export function testsOf(
	{ tests }: Area,
	files: readonly string[],
	directory: string,
): readonly string[] {
	const names = files.map((file) => `/${basename(file)}"`);
	const direct = globSync([...tests], {
		cwd: directory,
		exclude: [...LEFT_OUT],
	}).filter((test) => {
		const text = readFileSync(join(directory, test), "utf8");
		return names.some((name) => text.includes(name));
	});
	return direct.length > 0 ? direct.sort() : tests;
}
