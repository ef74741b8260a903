import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { runProgram } from "../programs/run-program.ts";

/** An interpreter to try, or why there is none here. */
export type Lead =
	| {
			readonly kind: "found";
			readonly executable: string;
			readonly reason: string;
	  }
	| { readonly kind: "nothing"; readonly why: string };

/** One place where an interpreter can come from. */
export type InterpreterSource = (signal: AbortSignal) => Promise<Lead>;

/** What the search knows of this program. */
export interface SearchSetting {
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly cwd: string;
}

/** How long uv may think. It reads a few files; a slow disk is all it can wait for. */
const UV_TIMEOUT_MS = 20_000;

/** Named by the user: nothing else is tried. */
export function namedSource(
	executable: string,
	reason: string,
): InterpreterSource {
	return async () => ({ kind: "found", executable, reason });
}

/** Where Python is looked for, the first one wins: `VIRTUAL_ENV`, `.venv`, uv, `python3`. */
export function usualSources(
	setting: SearchSetting,
): readonly InterpreterSource[] {
	return [
		async () => activeEnvironment(setting),
		async () => nearestDotVenv(setting.cwd),
		...systemSources(setting),
	];
}

/** Where Python is looked for when an environment is to be made: uv, `python3`. */
export function systemSources(
	setting: SearchSetting,
): readonly InterpreterSource[] {
	return [
		(signal) => uvPython(setting, signal),
		async () => ({
			kind: "found",
			executable: "python3",
			reason: "it is python3 in PATH",
		}),
	];
}

/** The interpreter of a virtual environment. */
export function pythonOf(directory: string): string {
	return join(directory, "bin", "python");
}

function activeEnvironment({ env }: SearchSetting): Lead {
	const directory = env["VIRTUAL_ENV"];
	if (!directory) return { kind: "nothing", why: "VIRTUAL_ENV is not set" };
	const executable = pythonOf(directory);
	return existsSync(executable)
		? { kind: "found", executable, reason: `VIRTUAL_ENV is ${directory}` }
		: {
				kind: "nothing",
				why: `VIRTUAL_ENV is ${directory}, and there is no ${executable}`,
			};
}

/** Upwards from the working directory, as `node_modules` is found. */
function nearestDotVenv(cwd: string): Lead {
	for (let directory = cwd; ; directory = dirname(directory)) {
		const executable = pythonOf(join(directory, ".venv"));
		if (existsSync(executable))
			return { kind: "found", executable, reason: `.venv is in ${directory}` };
		if (directory === dirname(directory)) {
			return { kind: "nothing", why: `no .venv in ${cwd} or above it` };
		}
	}
}

/** What uv would take here: it knows `.python-version`, and the interpreters that it manages. */
async function uvPython(
	{ env, cwd }: SearchSetting,
	signal: AbortSignal,
): Promise<Lead> {
	const done = await runProgram("uv", ["python", "find"], {
		env,
		cwd,
		timeoutMs: UV_TIMEOUT_MS,
		signal,
	});
	if (done.kind === "missing")
		return { kind: "nothing", why: "uv is not in PATH" };
	const executable =
		done.kind === "ended" && done.code === 0 ? done.stdout.trim() : "";
	return executable !== ""
		? { kind: "found", executable, reason: "uv python find names it" }
		: { kind: "nothing", why: `uv python find found none: ${done.problem}` };
}
