import { spawnSync } from "node:child_process";
import { SNAKEPIT_IN_NODE } from "../run/started.ts";

/** Runs a program in a new terminal. */
const IN_TERMINAL =
	"import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

/** The program and arguments that run `snakepit` in a new terminal of this size. @param first is printed before. */
export function inTerminal(
	{ rows, columns }: { readonly rows: number; readonly columns: number },
	first: string,
	args: readonly string[],
): readonly [string, string[]] {
	const script = `stty rows ${rows} cols ${columns}; ${first}; exec "$@"`;
	const shell = ["sh", "-c", script, "sh", ...SNAKEPIT_IN_NODE, ...args];
	return ["python3", ["-c", IN_TERMINAL, ...shell]];
}

/** What a command prints in a terminal of 24 rows and so many columns, by line. */
export function linesInTerminal(
	columns: number,
	...args: readonly string[]
): readonly string[] {
	const { stdout, stderr } = spawnSync(
		...inTerminal({ rows: 24, columns }, ":", args),
		{ encoding: "utf8", input: "" },
	);
	if (stderr !== "") throw new Error(stderr);
	return stdout.trimEnd().split(/\r?\n/);
}
