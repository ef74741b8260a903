import { constants, lstatSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { runProgram } from "../programs/run-program.ts";
import { findProgram } from "./find-program.ts";
import { type Reach, reach, reachProblem } from "./reach.ts";

/** An interpreter to try, or why there is none here. */
export type Lead =
	| FoundLead
	| UnusableLead
	/** None is named here: the next source is tried. */
	| { readonly kind: "nothing"; readonly why: string };

/** One is named, but cannot be used: taking another one would be a surprise. */
export interface UnusableLead {
	readonly kind: "unusable";
	readonly reason: string;
	/** In a few words. */
	readonly problem: string;
	/** `"fails"`: it exists, but does not behave like Python. */
	readonly fault:
		| "missing"
		| "forbidden"
		| "not_executable"
		| "directory"
		| "fails";
	/** The virtual environment to which it would belong. */
	readonly environment: string | undefined;
	/** The directory or file that this user cannot access, or that is not a program. */
	readonly place?: string | undefined;
}

/** An interpreter that may be there. */
export interface FoundLead {
	readonly kind: "found";
	/** Absolute. */
	readonly program: string;
	readonly reason: string;
	/** `"named"`: no other is tried. `"offered"`: if it does not run, the next source is tried. */
	readonly standing: "named" | "offered";
	/** The virtual environment whose Python it must be. */
	readonly environment: string | undefined;
}

/** One place where an interpreter can come from. */
export type InterpreterSource = (signal: AbortSignal) => Promise<Lead>;

/** What the search knows of this program. */
export interface SearchSetting {
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly cwd: string;
}

/** How long uv may take. It reads only a few files, so only a slow disk can delay it. */
const UV_TIMEOUT_MS = 20_000;

/** Named by the user, by a path or by a name in PATH: nothing else is tried. */
export function namedSource(
	program: string,
	reason: string,
	{ env, cwd }: SearchSetting,
): InterpreterSource {
	return async () => {
		if (program.includes("/")) return pathLead(program, reason, undefined);
		const found = findProgram(program, env["PATH"], cwd);
		return found.kind === "found"
			? named(found.path, reason)
			: {
					kind: "unusable",
					reason,
					problem: found.why,
					fault: "missing",
					environment: undefined,
				};
	};
}

/** Where to look for Python, in this order: `VIRTUAL_ENV`, `.venv`, uv, `python3`. */
export function usualSources(
	setting: SearchSetting,
): readonly InterpreterSource[] {
	return [
		async () => activeEnvironment(setting),
		async () => nearestDotVenv(setting.cwd),
		...systemSources(setting),
	];
}

/** Where to look for Python to create an environment: uv, `python3`. */
export function systemSources(
	setting: SearchSetting,
): readonly InterpreterSource[] {
	return [
		(signal) => uvPython(setting, signal),
		async () => {
			const found = findProgram("python3", setting.env["PATH"], setting.cwd);
			return found.kind === "none"
				? { kind: "nothing", why: found.why }
				: offered(found.path, "it is python3 in PATH");
		},
	];
}

/** The interpreter of a virtual environment. */
export function pythonOf(directory: string): string {
	return join(directory, "bin", "python");
}

function activeEnvironment({ env, cwd }: SearchSetting): Lead {
	const directory = env["VIRTUAL_ENV"];
	if (!directory) return { kind: "nothing", why: "VIRTUAL_ENV is not set" };
	return environmentLead(
		resolve(cwd, directory),
		`VIRTUAL_ENV is ${directory}`,
	);
}

/** Upwards from the working directory, as `node_modules` is found. */
function nearestDotVenv(cwd: string): Lead {
	const others: string[] = [];
	for (let directory = cwd; ; directory = dirname(directory)) {
		const environment = join(directory, ".venv");
		const what = judgeDotVenv(environment);
		if (what === "environment")
			return environmentLead(environment, `.venv is in ${directory}`);
		if (what !== "none") others.push(`; ${environment} ${what}`);
		if (directory === dirname(directory)) {
			return {
				kind: "nothing",
				why: `no .venv in ${cwd} or above it${others.join("")}`,
			};
		}
	}
}

/** A broken environment, or one that this user may not read, still counts as one. */
function judgeDotVenv(
	directory: string,
):
	| "none"
	| "environment"
	| "is not a virtual environment"
	| "cannot be looked for" {
	const there = look(directory);
	if (there === "nothing") return "none";
	if (there === "closed") return "cannot be looked for";
	const configuration = reach(join(directory, "pyvenv.cfg"));
	const hasPython = look(pythonOf(directory)) !== "nothing";
	return configuration.kind !== "missing" || hasPython
		? "environment"
		: "is not a virtual environment";
}

/** A link counts as existing, wherever it leads. */
function look(path: string): "something" | "nothing" | "closed" {
	try {
		const facts = lstatSync(path, { throwIfNoEntry: false });
		return facts === undefined ? "nothing" : "something";
	} catch {
		return "closed";
	}
}

function environmentLead(environment: string, reason: string): Lead {
	// If Python cannot read that file, it fails or runs as a different one, depending on its version.
	const configuration = reach(join(environment, "pyvenv.cfg"));
	return configuration.kind === "forbidden"
		? unreached(configuration, reason, environment)
		: pathLead(pythonOf(environment), reason, environment);
}

function pathLead(
	program: string,
	reason: string,
	environment: string | undefined,
): Lead {
	const found = reach(program, constants.X_OK);
	const noProgram = noProgramAt(found);
	if (noProgram !== undefined)
		return { kind: "unusable", reason, environment, ...noProgram };
	return found.kind === "reached"
		? { ...named(program, reason), environment }
		: unreached(found, reason, environment);
}

/** Why a path does not lead to a program, whatever this user's rights are. */
function noProgramAt(
	found: Reach,
): Pick<UnusableLead, "fault" | "problem" | "place"> | undefined {
	if (found.kind === "missing") return undefined;
	const place = found.kind === "reached" ? found.path : found.at;
	const facts = statSync(place, { throwIfNoEntry: false });
	if (found.kind === "reached" && facts?.isDirectory())
		return { fault: "directory", problem: `${place} is a directory`, place };
	if (facts?.isFile() && (facts.mode & 0o111) === 0) {
		const problem = `${place} is not executable for anybody`;
		return { fault: "not_executable", problem, place };
	}
	return undefined;
}

function unreached(
	found: Exclude<Reach, { readonly kind: "reached" }>,
	reason: string,
	environment: string | undefined,
): UnusableLead {
	const { kind: fault } = found;
	const problem = reachProblem(found);
	const place = fault === "forbidden" ? found.at : undefined;
	return { kind: "unusable", reason, problem, fault, place, environment };
}

/** The interpreter that uv would choose here: it reads `.python-version`, and knows the interpreters that it manages. */
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
	const program =
		done.kind === "ended" && done.code === 0 ? done.stdout.trim() : "";
	return program !== ""
		? offered(resolve(cwd, program), "uv python find names it")
		: { kind: "nothing", why: `uv python find failed: ${done.problem}` };
}

function named(program: string, reason: string): FoundLead {
	return {
		kind: "found",
		program,
		reason,
		standing: "named",
		environment: undefined,
	};
}

function offered(program: string, reason: string): FoundLead {
	return { ...named(program, reason), standing: "offered" };
}
