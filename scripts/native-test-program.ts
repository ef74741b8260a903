import { globSync } from "node:fs";
import { join } from "node:path";
import { must, root } from "./run.ts";

/** Whoever reads or writes where it must not ends the program. */
export const SANITIZERS: readonly string[] = [
	"-fsanitize=address,undefined",
	"-fno-sanitize-recover=all",
];

const FLAGS = "-std=c11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror".split(" ");
const native = join(root, "native");

/**
 * Compiles a program of native/test with the sources of the guard, or with `main` the binary itself; returns its path.
 * The system's compiler is used, as the pinned one has no sanitizers.
 */
export function compileNativeTest(
	program: string,
	directory: string,
	flags: readonly string[] = [],
): string {
	const output = join(directory, program);
	const sources =
		program === "main"
			? globSync("src/*.c", { cwd: native })
			: [`test/guard/${program}.c`, "src/execute.c"];
	const guard = globSync("src/guard/*.c", { cwd: native });
	const args = [...FLAGS, ...flags, ...sources, ...guard, "-o", output];
	must(process.env["CC"] ?? "cc", args, { cwd: native });
	return output;
}
