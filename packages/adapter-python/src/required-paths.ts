import { constants } from "node:fs";
import { basename } from "node:path";
import { OptionsError, StartError } from "@snakepit/core";
import { anyWorkingDirectory } from "@snakepit/core/adapter";
import { reach, reachProblem } from "./interpreter/reach.ts";
import type { ResolvedOptions } from "./options.ts";
import type { PythonStartErrorCode } from "./start-error-codes.ts";

/** @throws OptionsError if the working directory does not exist, or this user may not enter it: a spawn would report the program as missing. */
export function requireDirectory({ cwd, kind }: ResolvedOptions): void {
	if (cwd === undefined) return;
	const problem = reachProblem(reach(cwd, constants.X_OK));
	if (problem === "") return;
	throw new OptionsError({
		code: "INVALID_OPTION",
		ran: "no",
		message: `${kind.maker}: ${cwd} ("cwd") cannot be the working directory: ${problem}.`,
	});
}

/** @throws StartError `TOOLS_IMPORT_FAILED` when there is no such file, or this user may not read it. */
export function requireTools({ tools }: ResolvedOptions): void {
	for (const source of tools) if ("file" in source) requireFile(source.file);
}

function requireFile(file: string): void {
	const found = reach(file);
	if (found.kind === "reached") return;
	if (found.kind === "forbidden") {
		throw new StartError<PythonStartErrorCode>({
			code: "TOOLS_IMPORT_FAILED",
			ran: "no",
			message: `The file ${file} (the adapter's option "tools") cannot be read: ${reachProblem(found)}. Let that user read it, or move the tools to a place that this user can read.`,
		});
	}
	const module = file.endsWith(".py")
		? ""
		: ` For a module of Python, write { module: ${JSON.stringify(basename(file))} }.`;
	throw new StartError<PythonStartErrorCode>({
		code: "TOOLS_IMPORT_FAILED",
		ran: "no",
		message: `There is no file ${file} (the adapter's option "tools").${module} Relative paths are resolved against the working directory, ${anyWorkingDirectory()}; new URL("./tools.py", import.meta.url) is relative to the program.`,
	});
}
