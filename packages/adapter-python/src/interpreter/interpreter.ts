import { constants, statSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import { anyWorkingDirectory, workingDirectory } from "@snakepit/core/adapter";
import { requireBridgeAmong } from "../environment/builder.ts";
import type { ResolvedOptions } from "../options.ts";
import { reach } from "./choose-interpreter.ts";
import {
	type InterpreterSource,
	namedSource,
	type SearchSetting,
	usualSources,
} from "./interpreter-sources.ts";
import type { WrapperChanges } from "./probe.ts";

/** A Python that can run the bridge. */
export interface Interpreter {
	/** The absolute path to execute, as it was named or found, so that a wrapper or a shim runs at each start. */
	readonly program: string;
	readonly version: readonly [major: number, minor: number, patch: number];
	/** Why it was chosen, for people. */
	readonly reason: string;
	/** The changes that `program` makes to the environment before Python starts; none if it is Python itself. */
	readonly changes: WrapperChanges;
}

/** What an interpreter reports about itself. */
export interface InterpreterFacts {
	/** `sys.executable`: behind a wrapper or a shim, it is another file than the one that was executed. */
	readonly executable: string;
	readonly version: readonly [major: number, minor: number, patch: number];
	/** `sys.prefix`: in a virtual environment its directory. */
	readonly prefix: string;
	/** Version of the `snakepit_bridge` that it would import; `"unknown"` if it cannot be read, `undefined` if there is none. */
	readonly bridge: string | undefined;
	/** Places for packages that it may not read. */
	readonly unreadable: readonly string[];
	/** Why Python cannot store compiled files of the bridge; `undefined` if they exist, or it can. */
	readonly uncompiled: string | undefined;
	/** Files and directories that determine its report, including some that do not exist. */
	readonly watched: readonly string[];
	/** Its environment, which a wrapper may have changed. */
	readonly environment: Readonly<Record<string, string>>;
}

/** The chosen interpreter, and those that were passed over before. */
export interface Choice
	extends Interpreter,
		Omit<InterpreterFacts, "environment" | "watched"> {
	readonly passedOver: readonly string[];
	/** PYTHONHOME, if this Python uses the packages of that place instead of its own. */
	readonly home?: string | undefined;
}

export const OLDEST_PYTHON = [3, 10] as const;

export function isTooOld(version: Interpreter["version"]): boolean {
	const [major, minor] = version;
	return (
		major < OLDEST_PYTHON[0] ||
		(major === OLDEST_PYTHON[0] && minor < OLDEST_PYTHON[1])
	);
}

/** A program in PATH, or why there is none. */
type FoundProgram =
	| { readonly kind: "found"; readonly path: string }
	| { readonly kind: "none"; readonly why: string };

/** Finds a program as the system would: the first file of that name in PATH that this user may execute. */
export function findProgram(
	name: string,
	path: string | undefined,
	cwd: string,
): FoundProgram {
	const closed: string[] = [];
	for (const directory of (path ?? "").split(delimiter)) {
		// An empty entry is the working directory.
		const candidate = resolve(cwd, directory, name);
		const result = reach(candidate, constants.X_OK);
		if (result.kind === "forbidden") closed.push(candidate);
		if (result.kind === "reached" && statSync(result.path).isFile())
			return { kind: "found", path: candidate };
	}
	const tried =
		closed.length === 0
			? ""
			: `, as this user may not run ${closed.join(", ")}`;
	return {
		kind: "none",
		why:
			path === undefined
				? `${name} was not found, because PATH is not set`
				: `${name} is not in PATH (${path})${tried}`,
	};
}

/** Finds the interpreter of an adapter's workers, and creates its environment. */
export async function interpreterSources(
	options: ResolvedOptions,
	setting: SearchSetting,
	signal: AbortSignal,
): Promise<readonly InterpreterSource[]> {
	const { environment } = options;
	if (environment === undefined) return namedSources(options, setting);
	requireBridgeAmong(environment.requirements, setting.env);
	const result = await environment.make(signal);
	const how = result.reused ? "made earlier" : "just made";
	const why = `it is the environment ${result.directory}, ${how}`;
	return [namedSource(result.python, why, setting)];
}

/** The same for an adapter without its own environment. */
export function namedSources(
	{ python, tools, toolPath }: ResolvedOptions,
	setting: SearchSetting,
): readonly InterpreterSource[] {
	if (python === undefined) {
		const files = tools.flatMap((each) => ("file" in each ? [each.file] : []));
		return usualSources(setting, [...files, ...toolPath]);
	}
	const why = `the adapter's option "python" names it`;
	return [namedSource(python, why, setting)];
}

/** The environment may depend on the slot, which is not known yet: put what Python needs to find the bridge into the environment of the host. */
export function searchSetting({
	env,
	cwd,
	python,
}: ResolvedOptions): SearchSetting {
	return {
		env: typeof env === "function" ? process.env : { ...process.env, ...env },
		cwd:
			cwd ??
			(python?.startsWith("/")
				? anyWorkingDirectory()
				: workingDirectory(
						'The search for a Python (without the option "python")',
					)),
	};
}
