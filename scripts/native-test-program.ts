import { existsSync, globSync } from "node:fs";
import { basename, join } from "node:path";
import { must, root } from "./run.ts";

/** Whoever reads or writes where it must not ends the program. */
export const SANITIZERS: readonly string[] = [
	"-fsanitize=address,undefined",
	"-fno-sanitize-recover=all",
];

const FLAGS = "-std=c11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror".split(" ");
const native = join(root, "native");

/**
 * Compiles a program of native/test with the sources that it tests, or with `main` the binary itself; returns its path.
 * Programs in one directory share what they have in common, and so their flags. The system's compiler is used, as the
 * pinned one has no sanitizers.
 */
export function compileNativeTest(
	program: string,
	directory: string,
	flags: readonly string[] = [],
): string {
	const output = join(directory, basename(program));
	const sources =
		program === "main"
			? globSync("src/**/*.c", { cwd: native })
			: [`test/${program}.c`, ...testedBy(program)];
	const compile = (...args: readonly string[]) =>
		must(process.env["CC"] ?? "cc", [...FLAGS, ...flags, ...args], {
			cwd: native,
		});
	const objects = sources.map((source) => {
		const object = join(directory, `${source.replaceAll("/", "-")}.o`);
		if (!existsSync(object)) compile("-c", source, "-o", object);
		return object;
	});
	compile(...objects, "-o", output);
	return output;
}

/** Parts of the guard need each other; those of `run` that have a test need none. */
function testedBy(program: string): readonly string[] {
	return program.startsWith("guard/")
		? ["src/execute.c", ...globSync("src/guard/*.c", { cwd: native })]
		: [`src/${program.replace(/-test$/, ".c")}`];
}
