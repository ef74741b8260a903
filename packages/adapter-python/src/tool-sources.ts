import { OptionsError } from "@snakepit/core";
import {
	type Check,
	checkOptions,
	nonEmptyText,
	optional,
} from "@snakepit/core/options";
import type { PythonOptions, ResolvedSource, ToolSource } from "./options.ts";
import { absolute, isPath, isUrl } from "./paths.ts";

const isNames: Check = (value) =>
	Array.isArray(value) &&
	value.length > 0 &&
	value.every((name) => nonEmptyText(name) === undefined)
		? undefined
		: "must be an array of at least one name of a function";

export const SOURCE_CHECKS: Readonly<Record<keyof ToolSource, Check>> = {
	module: optional(nonEmptyText),
	path: optional(isPath),
	file: optional(isPath),
	expose: optional(isNames),
};

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
		ran: "no",
		message: `${maker} tools: the module ${JSON.stringify(module)} has two paths, but a worker imports only the first module of a name; rename one of the two.`,
	});
}

function pathOfFile(maker: string): OptionsError {
	return new OptionsError({
		code: "INVALID_OPTION",
		ran: "no",
		message: `${maker} tools: "path" says where a module is, but "file" is already a path; leave "path" out.`,
	});
}
