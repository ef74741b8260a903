import { accessSync, constants, lstatSync, type Stats } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { RegistryError } from "../contract/errors.ts";
import { withFallback } from "../contract/thrown.ts";
import { makeDirectories, ownershipProblem } from "./private-directory.ts";
import { unwritableRemedy } from "./spawn-failure.ts";

/** Where the ledger of this user on this machine is. */
export interface StateDirectory {
	readonly path: string;
	/** Why it is not in the user's home; `undefined` when it is. */
	readonly relocated: string | undefined;
}

/**
 * Finds or makes the directory of the ledger: what the caller names, else
 * `$XDG_STATE_HOME/snakepit/MACHINE`, else the same under `~/.local/state`,
 * else a private directory under the temporary one.
 *
 * The path has the machine in it since homes are shared between machines and
 * SQLite's files must not be.
 *
 * @throws RegistryError `REGISTRY_UNWRITABLE` when there is no place that is
 *   writable and private.
 */
export function openStateDirectory(
	dataDir: string | undefined,
	machineId: string,
	env: NodeJS.ProcessEnv = process.env,
): StateDirectory {
	if (dataDir !== undefined) {
		// The caller is responsible for what it names; what is made in it is private in any case.
		const problem = makeWritable(dataDir);
		if (problem !== undefined) throw unwritable(dataDir, problem);
		return { path: dataDir, relocated: undefined };
	}
	const home = stateHome(env);
	const path = join(home.path, "snakepit", machineId);
	const problem = home.problem ?? makePrivate(path);
	if (problem === undefined) return { path, relocated: undefined };
	const temporary = temporaryStateDirectory(machineId);
	const personal = dirname(temporary);
	const trouble = makePrivate(personal) ?? makePrivate(temporary);
	if (trouble !== undefined) throw unwritable(personal, trouble);
	return { path: temporary, relocated: `${home.path} ${problem}` };
}

/**
 * Finds the directory of the ledger where {@link openStateDirectory} would have
 * made it, and makes nothing; `undefined` when there is none that can be read.
 */
export function findStateDirectory(
	dataDir: string | undefined,
	machineId: string,
	env: NodeJS.ProcessEnv = process.env,
): string | undefined {
	if (dataDir !== undefined) return readable(dataDir);
	const home = stateHome(env);
	const usual = join(home.path, "snakepit", machineId);
	if (home.problem === undefined) {
		if (isReadable(usual)) return usual;
		// The next start makes it there: one in the temporary directory is another's.
		if (canBeMade(usual)) return undefined;
	}
	return readable(temporaryStateDirectory(machineId));
}

/** Where the ledger of this user is by default, whether it is there or not; `undefined` where that is not in a home. */
export function usualStateDirectory(
	machineId: string,
	env: NodeJS.ProcessEnv = process.env,
): string | undefined {
	const { path, problem } = stateHome(env);
	return problem === undefined ? join(path, "snakepit", machineId) : undefined;
}

/** What there is where a program would have its ledger. */
export type StateDirectoryState =
	| { readonly kind: "found"; readonly path: string }
	| { readonly kind: "absent" }
	/** It is there, and this user may not read it. */
	| {
			readonly kind: "unreadable";
			readonly path: string;
			readonly reason: string;
	  };

/** Like {@link findStateDirectory}, and says why a directory that is there cannot be read. */
export function stateDirectoryProblem(
	dataDir: string | undefined,
	machineId: string,
	env: NodeJS.ProcessEnv = process.env,
): StateDirectoryState {
	const home = stateHome(env);
	const usual =
		dataDir ??
		(home.problem === undefined
			? join(home.path, "snakepit", machineId)
			: undefined);
	const path = findStateDirectory(dataDir, machineId, env);
	for (const each of [usual, path].flatMap((each) => each ?? [])) {
		const reason = refusalIn(each);
		if (reason !== undefined) return { kind: "unreadable", path: each, reason };
	}
	return path === undefined ? { kind: "absent" } : { kind: "found", path };
}

/** Why the runs in a directory cannot be read; `undefined` if they can, or there are none. */
function refusalIn(path: string): string | undefined {
	for (const each of [path, join(path, "runs")])
		try {
			accessSync(each, constants.R_OK | constants.X_OK);
		} catch (error) {
			const { code, message } = error as NodeJS.ErrnoException;
			if (code !== "ENOENT") return message;
		}
	return undefined;
}

function readable(path: string): string | undefined {
	return isReadable(path) ? path : undefined;
}

function canBeMade(path: string): boolean {
	if (statsOf(path) !== undefined) return false;
	return withFallback(false, () => {
		accessSync(nearestOf(dirname(path)), constants.W_OK | constants.X_OK);
		return true;
	});
}

function isReadable(path: string): boolean {
	return withFallback(false, () => {
		accessSync(path, constants.R_OK | constants.X_OK);
		return true;
	});
}

/** Under a directory of this user's own. */
function temporaryStateDirectory(machineId: string): string {
	return join(tmpdir(), `snakepit-${process.getuid?.() ?? 0}`, machineId);
}

/** Another user's home is left alone: `sudo` may keep the caller's, and files of root would lock them out. */
function stateHome(env: NodeJS.ProcessEnv): {
	readonly path: string;
	readonly problem: string | undefined;
} {
	const state = env["XDG_STATE_HOME"];
	const home = env["HOME"];
	const [path, owner] = state?.startsWith("/")
		? [state, nearestOf(state)]
		: home?.startsWith("/")
			? [join(home, ".local/state"), home]
			: ["HOME", undefined];
	if (owner === undefined) return { path, problem: "is not set" };
	const stats = statsOf(owner);
	if (stats === undefined) return { path, problem: "cannot be found" };
	if (stats.uid !== process.getuid?.())
		return { path, problem: `belongs to user ${stats.uid}` };
	return { path, problem: undefined };
}

/** The directory itself, or the one above it that there is. */
function nearestOf(path: string): string {
	return statsOf(path) === undefined ? nearestOf(dirname(path)) : path;
}

/** Makes the directory. Returns what is wrong with it, or nothing. */
function makeWritable(path: string): string | undefined {
	try {
		makeDirectories(path, 0o700);
		accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
		return undefined;
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		const remedy = unwritableRemedy(code);
		return `cannot be written (${message})${remedy && `. ${remedy}`}`;
	}
}

function makePrivate(path: string): string | undefined {
	return (
		makeWritable(path) ??
		ownershipProblem(lstatSync(path), "not_writable_by_others")
	);
}

function statsOf(path: string): Stats | undefined {
	return withFallback(undefined, () => lstatSync(path));
}

function unwritable(path: string, problem: string): RegistryError {
	return new RegistryError({
		code: /\b(ENOSPC|EDQUOT)\b/.test(problem)
			? "REGISTRY_FULL"
			: "REGISTRY_UNWRITABLE",
		message: `The ledger of processes cannot be kept in ${path}: it ${problem.replace(/\.$/, "")}. Fix that, or set dataDir to a directory of your own.`,
	});
}
