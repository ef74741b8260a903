import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Area, LEFT_OUT } from "./areas.ts";

/**
 * The tests that import one of the files, themselves or by a module beside them, or begin
 * with its name: those that state what its decisions are. All tests of the area where a file has none, or
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
		text: withModulesBeside(join(directory, test)),
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

/** The text of a test, and of the modules in its folder that it imports. */
function withModulesBeside(test: string): string {
	const text = readFileSync(test, "utf8");
	const beside = [...text.matchAll(/ from "\.\/([\w-]+\.ts)"/g)]
		.map(([, name = ""]) => join(dirname(test), name))
		// A test may contain the text of a program.
		.filter((file) => existsSync(file));
	return [text, ...beside.map((file) => readFileSync(file, "utf8"))].join("\n");
}
