import { spawnSync } from "node:child_process";
import { SNAKEPIT_IN_NODE } from "../run/started.ts";

/** Runs a program in a new terminal. */
const IN_TERMINAL =
	"import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

/** What a command prints in a terminal of 24 rows and so many columns, by line. */
export function linesInTerminal(
	columns: number,
	...args: readonly string[]
): readonly string[] {
	const { stdout, stderr } = spawnSync(
		"python3",
		[
			...["-c", IN_TERMINAL, "sh", "-c"],
			`stty rows 24 cols ${columns}; exec "$@"`,
			...["sh", ...SNAKEPIT_IN_NODE, ...args],
		],
		{ encoding: "utf8", input: "" },
	);
	if (stderr !== "") throw new Error(stderr);
	return stdout.trimEnd().split(/\r?\n/);
}
