import { constants } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { OptionsError, StartError } from "@snakepit/core";
import { absolutePath, anyWorkingDirectory } from "@snakepit/core/adapter";
import {
	type Check,
	checkOptions,
	nonEmptyText,
	optional,
} from "@snakepit/core/options";
import { reach, reachProblem } from "./interpreter/choose-interpreter.ts";
import type {
	PythonOptions,
	ResolvedOptions,
	ResolvedSource,
	ToolSource,
} from "./options.ts";
import type { PythonStartErrorCode } from "./start-error-codes.ts";

const isNames: Check = (value) =>
	Array.isArray(value) &&
	value.length > 0 &&
	value.every((name) => nonEmptyText(name) === undefined)
		? undefined
		: "must be an array of at least one name of a function";

const isSource = (value: unknown): value is ToolSource =>
	typeof value === "object" &&
	value !== null &&
	!(value instanceof URL) &&
	isGiven(value, "module") !== isGiven(value, "file");

const isGiven = (value: object, name: string): boolean =>
	(value as Record<string, unknown>)[name] !== undefined;

/** What `tools` may be. */
export const isTools: Check = (value) => {
	const sources = Array.isArray(value) ? value : [value];
	return sources.length > 0 &&
		sources.every(
			(source) =>
				isSource(source) ||
				(!Array.isArray(value) && isPath(source) === undefined),
		)
		? undefined
		: "must be a path or a file: URL of a .py file, { module } or { file }, or an array of these objects";
};

/**
 * The sources of tools, and the directories in which their modules are.
 *
 * @throws OptionsError
 */
export function resolveSources(
	maker: string,
	tools: PythonOptions["tools"],
): {
	readonly sources: readonly ResolvedSource[];
	readonly path: readonly string[];
} {
	const sources: ResolvedSource[] = [];
	const path: string[] = [];
	const places = new Map<string, string | undefined>();
	for (const source of listOf(tools)) {
		checkOptions(`${maker} tools`, source, SOURCE_CHECKS);
		const { module, file } = source;
		const directory = source.path && absolute(source.path);
		const expose = source.expose && {
			expose: Object.freeze([...source.expose]),
		};
		if (directory !== undefined) path.push(directory);
		if (file !== undefined) {
			if (directory !== undefined) throw pathOfFile(maker);
			sources.push(Object.freeze({ file: absolute(file), ...expose }));
		} else if (module !== undefined) {
			if (places.has(module) && places.get(module) !== directory)
				throw oneModuleTwice(maker, module);
			places.set(module, directory);
			sources.push(Object.freeze({ module, ...expose }));
		}
	}
	return { sources: Object.freeze(sources), path };
}

function listOf(tools: PythonOptions["tools"]): readonly ToolSource[] {
	if (isUrl(tools) || typeof tools === "string") return [{ file: tools }];
	return Array.isArray(tools) ? tools : [tools as ToolSource];
}

function oneModuleTwice(maker: string, module: string): OptionsError {
	return new OptionsError({
		code: "INVALID_OPTION",
		message: `${maker} tools: the module ${JSON.stringify(module)} has two paths, but a worker imports only the first module of a name; rename one of the two.`,
	});
}

function pathOfFile(maker: string): OptionsError {
	return new OptionsError({
		code: "INVALID_OPTION",
		message: `${maker} tools: "path" says where a module is, but "file" is already a path; leave "path" out.`,
	});
}

/** A path or a `file:` URL. */
export const isPath: Check = (value) =>
	isUrl(value)
		? isFileUrl(value)
			? undefined
			: "must be a file: URL"
		: nonEmptyText(value) === undefined
			? undefined
			: "must be a path or a file: URL";

const SOURCE_CHECKS: Readonly<Record<keyof ToolSource, Check>> = {
	module: optional(nonEmptyText),
	path: optional(isPath),
	file: optional(isPath),
	expose: optional(isNames),
};

/** The path, absolute. */
export function absolute(path: string | URL): string {
	return isUrl(path) ? fileURLToPath(path) : absolutePath(path, "The path");
}

/** A URL, or the text of one, as `import.meta.resolve()` gives it. */
function isUrl(value: unknown): value is string | URL {
	return (
		value instanceof URL ||
		(typeof value === "string" && /^[a-z][a-z\d+.-]*:\/\//i.test(value))
	);
}

function isFileUrl(url: string | URL): boolean {
	try {
		fileURLToPath(url);
		return true;
	} catch {
		return false;
	}
}

/** @throws OptionsError if the working directory does not exist, or this user may not enter it: a spawn would report the program as missing. */
export function requireDirectory({ cwd, kind }: ResolvedOptions): void {
	if (cwd === undefined) return;
	const problem = reachProblem(reach(cwd, constants.X_OK));
	if (problem === "") return;
	throw new OptionsError({
		code: "INVALID_OPTION",
		message: `${kind.maker}: ${cwd} ("cwd") cannot be the working directory: ${problem}.`,
	});
}

/** @throws StartError `TOOLS_IMPORT_FAILED` when there is no such file, or this user may not read it. */
export function requireTools({ tools }: ResolvedOptions): void {
	for (const source of tools) if ("file" in source) requireFile(source.file);
}

function requireFile(file: string): void {
	const result = reach(file);
	if (result.kind === "reached") return;
	if (result.kind === "forbidden") {
		throw new StartError<PythonStartErrorCode>({
			code: "TOOLS_IMPORT_FAILED",
			message: `The file ${file} (the adapter's option "tools") cannot be read: ${reachProblem(result)}. Let that user read it, or move the tools to a place that this user can read.`,
		});
	}
	const module = file.endsWith(".py")
		? ""
		: ` For a module of Python, write { module: ${JSON.stringify(basename(file))} }.`;
	throw new StartError<PythonStartErrorCode>({
		code: "TOOLS_IMPORT_FAILED",
		message: `There is no file ${file} (the adapter's option "tools").${module} Relative paths are resolved against the working directory, ${anyWorkingDirectory()}; new URL("./tools.py", import.meta.url) is relative to the program.`,
	});
}
