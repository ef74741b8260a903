import { constants, lstatSync, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import {
	currentUser,
	type Reach,
	reach,
	reachProblem,
} from "./choose-interpreter.ts";
import { findProgram } from "./interpreter.ts";
import { runProgram } from "./run-program.ts";

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
	readonly location?: string | undefined;
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
		const result = findProgram(program, env["PATH"], cwd);
		return result.kind === "found"
			? named(result.path, reason)
			: {
					kind: "unusable",
					reason,
					problem: result.why,
					fault: "missing",
					environment: undefined,
				};
	};
}

/**
 * Where to look for Python, in this order: `VIRTUAL_ENV`, `.venv`, uv, `python3`.
 *
 * @param tools the files of tools, and the directories of their modules.
 */
export function usualSources(
	setting: SearchSetting,
	tools: readonly string[] = [],
): readonly InterpreterSource[] {
	const trusted = new Trusted(tools);
	return [
		async () => activeEnvironment(setting),
		async () =>
			nearestDotVenv(setting.cwd, tools.flatMap(directoriesOf), trusted),
		...systemSources(setting, trusted),
	];
}

/** Where to look for Python to create an environment: uv, `python3`. */
export function systemSources(
	setting: SearchSetting,
	trusted: Trusted = new Trusted(),
): readonly InterpreterSource[] {
	return [
		(signal) => uvPython(setting, signal, trusted),
		async () => {
			const result = findProgram("python3", setting.env["PATH"], setting.cwd);
			return result.kind === "none"
				? { kind: "nothing", why: result.why }
				: offered(result.path, "it is python3 in PATH");
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

/** Upwards from the working directory, as `node_modules` is found, and then from the directories of the tools. */
function nearestDotVenv(
	cwd: string,
	ofTools: readonly string[],
	trusted: Trusted,
): Lead {
	const visited = new Set<string>();
	const searched: string[] = [];
	const others: string[] = [];
	for (const start of [cwd, ...ofTools]) {
		if (!visited.has(start)) searched.push(start);
		for (
			let directory = start;
			!visited.has(directory);
			directory = dirname(directory)
		) {
			visited.add(directory);
			const environment = join(directory, ".venv");
			const verdict = judgeDotVenv(environment);
			const stranger =
				verdict === "environment" ? trusted.strangerIn(environment) : undefined;
			if (verdict === "environment" && stranger === undefined) {
				const above = start === cwd ? "" : ", found from the tools upward";
				return environmentLead(
					environment,
					`.venv is in ${directory}${above}${others.join("")}`,
				);
			}
			if (stranger !== undefined)
				others.push(
					`; ${environment} is ignored: ${stranger} (to use it, set "python" or VIRTUAL_ENV)`,
				);
			else if (verdict !== "none") others.push(`; ${environment} ${verdict}`);
		}
	}
	return {
		kind: "nothing",
		why: `no .venv in ${searched.join(" or ")} or above ${searched.length > 1 ? "them" : "it"}${others.join("")}`,
	};
}

/** The directories beside which a file of tools is, or a directory of modules itself; of a link, also that of its target. */
function directoriesOf(tools: string): readonly string[] {
	const isDirectory =
		statSync(tools, { throwIfNoEntry: false })?.isDirectory() ?? false;
	return isDirectory ? [tools] : [dirname(tools), dirname(realPath(tools))];
}

function realPath(path: string): string {
	try {
		return realpathSync(path);
	} catch {
		return path;
	}
}

/**
 * The owners whose Python may be run without being named: any user who can write to a directory above, such as `/tmp`,
 * could put one there. (As in git since CVE-2022-24765.)
 */
class Trusted {
	/** `undefined` where files have no owner. */
	readonly #users: ReadonlySet<number> | undefined;

	/** @param tools their owners are trusted, too: what they wrote is run anyway. */
	constructor(tools: readonly string[] = []) {
		const user = process.geteuid?.();
		if (user === undefined) return;
		const owners = tools.flatMap((path) => {
			const facts = statSync(path, { throwIfNoEntry: false });
			return facts === undefined ? [] : [facts.uid];
		});
		this.#users = new Set([0, user, ...owners]);
	}

	/** Says what of an environment belongs to somebody else. A link of a trusted user may lead anywhere. */
	strangerIn(environment: string): string | undefined {
		const own = ownerOf(environment);
		if (own?.isLink && this.#trusts(own.uid)) return undefined;
		const parts = ["", "pyvenv.cfg", "bin", "bin/python"];
		for (const part of parts) {
			const path = join(environment, part);
			const owner = ownerOf(path);
			if (owner !== undefined && !this.#trusts(owner.uid))
				return `${path} belongs to ${notOurs(owner.uid)}`;
		}
		return undefined;
	}

	/** The same for a program that a file above the working directory may have named, unless it is in `PATH`. */
	strangerBehind(
		program: string,
		path: string | undefined,
	): string | undefined {
		const environment = dirname(dirname(program));
		if (look(join(environment, "pyvenv.cfg")) !== "nothing")
			return this.strangerIn(environment);
		if (path?.split(delimiter).includes(dirname(program))) return undefined;
		const behind = realPath(program);
		const owner = ownerOf(behind);
		return owner === undefined || this.#trusts(owner.uid)
			? undefined
			: `${behind} belongs to ${notOurs(owner.uid)}`;
	}

	#trusts(uid: number): boolean {
		return this.#users?.has(uid) ?? true;
	}
}

function notOurs(uid: number): string {
	const orRoot = process.geteuid?.() === 0 ? "" : " or root";
	return `the user with uid ${uid}, and not to ${currentUser()}${orRoot}`;
}

function ownerOf(
	path: string,
): { readonly uid: number; readonly isLink: boolean } | undefined {
	try {
		const facts = lstatSync(path);
		return { uid: facts.uid, isLink: facts.isSymbolicLink() };
	} catch {
		// What this user cannot see is reported when it is used.
		return undefined;
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
	const result = reach(program, constants.X_OK);
	const noProgram = noProgramAt(result);
	if (noProgram !== undefined)
		return { kind: "unusable", reason, environment, ...noProgram };
	return result.kind === "reached"
		? { ...named(program, reason), environment }
		: unreached(result, reason, environment);
}

/** Why a path does not lead to a program, whatever this user's rights are. */
function noProgramAt(
	reach: Reach,
): Pick<UnusableLead, "fault" | "problem" | "location"> | undefined {
	if (reach.kind === "missing") return undefined;
	const location = reach.kind === "reached" ? reach.path : reach.at;
	const facts = statSync(location, { throwIfNoEntry: false });
	if (reach.kind === "reached" && facts?.isDirectory())
		return {
			fault: "directory",
			problem: `${location} is a directory`,
			location,
		};
	if (facts?.isFile() && (facts.mode & 0o111) === 0) {
		const problem = `${location} is not executable for anybody`;
		return { fault: "not_executable", problem, location };
	}
	return undefined;
}

function unreached(
	reach: Exclude<Reach, { readonly kind: "reached" }>,
	reason: string,
	environment: string | undefined,
): UnusableLead {
	const { kind: fault } = reach;
	const problem = reachProblem(reach);
	const location = fault === "forbidden" ? reach.at : undefined;
	return { kind: "unusable", reason, problem, fault, location, environment };
}

/**
 * The interpreter that uv would choose here: it reads `.python-version`, and knows the interpreters that it manages.
 * Also an environment above, whose owner it does not look at.
 */
async function uvPython(
	{ env, cwd }: SearchSetting,
	signal: AbortSignal,
	trusted: Trusted,
): Promise<Lead> {
	const ignored: string[] = [];
	for (const more of [[], ["--system"]]) {
		const done = await runProgram("uv", ["python", "find", ...more], {
			env,
			cwd,
			timeoutMs: UV_TIMEOUT_MS,
			signal,
		});
		if (done.kind === "missing")
			return { kind: "nothing", why: "uv is not in PATH" };
		const executable =
			done.kind === "ended" && done.code === 0 ? done.stdout.trim() : "";
		if (executable === "") {
			const failed = `uv python find failed: ${done.problem}`;
			return { kind: "nothing", why: [...ignored, failed].join("; ") };
		}
		const program = resolve(cwd, executable);
		const stranger = trusted.strangerBehind(program, env["PATH"]);
		if (stranger === undefined)
			return offered(
				program,
				["uv python find names it", ...ignored].join("; "),
			);
		ignored.push(
			`what uv python find names is ignored: ${stranger} (to use it, set "python")`,
		);
	}
	return { kind: "nothing", why: ignored.at(-1) ?? "" };
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
