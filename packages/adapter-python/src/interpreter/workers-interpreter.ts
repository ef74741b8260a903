import { anyWorkingDirectory, workingDirectory } from "@snakepit/core/adapter";
import { requireBridgeAmong } from "../environment/bridge-requirement.ts";
import type { ResolvedOptions } from "../options.ts";
import {
	type InterpreterSource,
	namedSource,
	type SearchSetting,
	usualSources,
} from "./interpreter-sources.ts";

/** Finds the interpreter of an adapter's workers, and creates its environment. */
export async function interpreterSources(
	options: ResolvedOptions,
	setting: SearchSetting,
	signal: AbortSignal,
): Promise<readonly InterpreterSource[]> {
	const { environment } = options;
	if (environment === undefined) return namedSources(options, setting);
	requireBridgeAmong(environment.requirements, setting.env);
	const made = await environment.make(signal);
	const how = made.reused ? "made earlier" : "just made";
	const why = `it is the environment ${made.directory}, ${how}`;
	return [namedSource(made.python, why, setting)];
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
