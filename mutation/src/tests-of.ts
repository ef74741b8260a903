import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Area, LEFT_OUT } from "./areas.ts";

/**
 * The tests that import one of the files themselves or begin with its name: those
 * that state what its decisions are. All tests of the area where a file has none, or
 * no file is named.
 */
export function testsOf(
	{ tests }: Area,
	files: readonly string[],
	directory: string,
): readonly string[] {
	const all = globSync([...tests], {
		cwd: directory,
		exclude: [...LEFT_OUT],
	}).map((test) => ({
		test,
		text: readFileSync(join(directory, test), "utf8"),
	}));
	const direct = files.map((file) =>
		all.flatMap(({ test, text }) =>
			text.includes(`/${basename(file)}"`) ||
			basename(test).startsWith(basename(file, ".ts"))
				? [test]
				: [],
		),
	);
	return files.length > 0 && direct.every((found) => found.length > 0)
		? [...new Set(direct.flat())].sort()
		: tests;
}
