import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { parseRunArguments, RUN_USAGE } from "./run-arguments.ts";
import { superviseHere } from "./supervise-here.ts";

/**
 * `snakepit run` when `bin/snakepit` did not execute the native binary: for help, or because the binary is in an
 * unusual place or missing.
 *
 * Without the binary, Node supervises the command. It then ends the command when this process's parent ends, but not
 * the processes that the command has started, and nothing if this process itself is killed.
 */
export function run(args: readonly string[]): void {
	const binary = nativeBinary();
	const order = parseRunArguments(args);
	if (order.kind === "help") process.stdout.write(RUN_USAGE);
	else if (binary !== undefined)
		become([binary, "run", ...args], order.kind === "run" ? order.graceMs : 0);
	else if (order.kind === "misspelt") {
		process.stderr.write(`snakepit: ${order.message}\n`);
		process.exitCode = 2;
	} else {
		if (order.isVerbose)
			process.stderr.write(
				`snakepit: there is no native binary for ${process.platform} on ${process.arch} here: only the command itself is ended, not what it starts\n`,
			);
		superviseHere(order.command, order.graceMs);
	}
}

function become(
	command: readonly [string, ...string[]],
	graceMs: number,
): void {
	// Node 22.15 and 23.11.
	if (typeof process.execve === "function")
		process.execve(command[0], command, process.env);
	else superviseHere(command, graceMs);
}

/** Its path, if it is executable: a failing `execve` aborts the process. */
function nativeBinary(): string | undefined {
	try {
		const path = createRequire(import.meta.url).resolve(
			`@snakepit/native-${process.platform}-${process.arch}/bin/snakepit-native`,
		);
		accessSync(path, constants.X_OK);
		return path;
	} catch {
		return undefined;
	}
}
