import {
	lstatSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	realpathSync,
	rmSync,
	type Stats,
	statSync,
	unlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { StartError } from "../contract/errors.ts";
import type { RunId } from "../contract/identity.ts";
import { withFallback } from "../contract/thrown.ts";
import { absolutePath } from "../contract/working-directory.ts";
import { unwritableRemedy } from "./spawn-failure.ts";

/**
 * Makes a directory and those above it that are not there, all with `mode`;
 * one that is there already is left as it is.
 *
 * Not `mkdirSync` with `recursive`: that tries for ever, and the program with
 * it, where the directory above is there and the file system says "no such
 * file" all the same, as `/proc` does and automounted ones may.
 *
 * @throws StartError `WORKING_DIRECTORY_GONE`, or Error the system's, such as `ENOENT`, `EACCES`, `ENOTDIR`, `EROFS`.
 */
export function makeDirectories(path: string, mode: number): void {
	const missing: string[] = [];
	let place = absolutePath(path, "The directory");
	while (!isDirectory(place) && place !== dirname(place)) {
		missing.unshift(place);
		place = dirname(place);
	}
	for (const directory of missing) make(directory, mode);
}

function make(directory: string, mode: number): void {
	try {
		mkdirSync(directory, { mode });
	} catch (error) {
		// Another program may have made it since.
		if (!isDirectory(directory)) throw error;
	}
}

function isDirectory(path: string): boolean {
	return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Socket paths must be shorter, in bytes: macOS has the smallest field. Source: unix(4), sys/un.h. */
export const SOCKET_PATH_LIMIT = 104;
/** In a sticky directory only the owner of a file renames or removes it. */
const STICKY = 0o1000;
/** Kept free for what workers put below the run's directory: an incarnation, a slash, a socket. */
const RESERVED_BYTES = 40;
/** Of the owner's key. */
const OWNER_CHARACTERS = 4;
/** What {@link mkdtempSync} adds to its prefix. */
const SUFFIX_BYTES = 6;
/** Of such a directory, with the slash before it. */
const NAME_BYTES =
	"/snakepit-".length + 7 + 1 + OWNER_CHARACTERS + SUFFIX_BYTES;

/**
 * Makes the private directory of one run, for sockets and scratch files: 0700,
 * fresh, short enough for socket paths below it.
 *
 * It is under `XDG_RUNTIME_DIR` where that is set and there, else under the
 * temporary directory.
 *
 * @param ownerKey names the process whose run it is: a part of it is in the directory's name.
 * @throws StartError `RUNTIME_DIRECTORY_UNSAFE` when another user could enter
 *   or exchange it, `RUNTIME_DIRECTORY_UNWRITABLE` when the system refuses,
 *   `SOCKET_PATH_TOO_LONG` when no place is short enough.
 */
export function createRunDirectory(
	runId: RunId,
	ownerKey: string,
	env: NodeJS.ProcessEnv = process.env,
): string {
	return makeFresh(runDirectoryBase(env), prefixOf(runId, ownerKey));
}

function makeFresh(base: string, prefix: string): string {
	let path: string;
	try {
		path = mkdtempSync(join(base, prefix));
	} catch (error) {
		throw unwritable(base, error as NodeJS.ErrnoException);
	}
	assertPrivate(path);
	return path;
}

/** @throws StartError `RUNTIME_DIRECTORY_UNSAFE`. */
function assertPrivate(path: string): void {
	const problem = ownershipProblem(lstatSync(path), "private");
	if (problem !== undefined) throw unsafe(path, problem);
}

/** What became of a private directory of a living run. */
export type DirectoryLoss =
	| "removed"
	/** Something else has its name, or others can enter it. */
	| "replaced"
	/** It belongs to another user: most often since this program changed its own. */
	| "other_user";

/** How a private directory was lost; `undefined` while it is this user's, and no other may enter it. */
export function lossOf(path: string): DirectoryLoss | undefined {
	let stats: Stats | undefined;
	try {
		stats = lstatSync(path, { throwIfNoEntry: false });
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		return code === "EACCES" ? "other_user" : "removed";
	}
	if (stats === undefined) return "removed";
	if (stats.uid !== process.getuid?.()) return "other_user";
	return ownershipProblem(stats, "private") === undefined
		? undefined
		: "replaced";
}

/**
 * Makes the private directory of a living run again: at its path, or where a new one would be made now. It keeps its name
 * where that is free.
 *
 * @returns its path.
 * @throws StartError as {@link createRunDirectory}; the next attempt may succeed.
 */
export function renewRunDirectory(
	lost: string,
	runId: RunId,
	ownerKey: string,
	env: NodeJS.ProcessEnv = process.env,
): string {
	const bases = runDirectoryBases(env, "left_out");
	const before = dirname(lost);
	// Where it was, if it still may be there.
	const ordered = bases.includes(before)
		? [before, ...bases.filter((base) => base !== before)]
		: bases;
	for (const base of ordered) {
		try {
			return makeAgain(join(base, basename(lost)), prefixOf(runId, ownerKey));
		} catch {
			// Another one may do: this user may be one that cannot write here.
		}
	}
	return createRunDirectory(runId, ownerKey, env);
}

function makeAgain(path: string, prefix: string): string {
	try {
		mkdirSync(path, { mode: 0o700 });
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
		return makeFresh(dirname(path), prefix);
	}
	assertPrivate(path);
	return path;
}

/**
 * Makes a directory for one process, in the private directory of its run.
 *
 * @throws StartError `RUNTIME_DIRECTORY_UNWRITABLE` when the system refuses.
 */
export function createPrivateDirectory(path: string): void {
	try {
		mkdirSync(path, { mode: 0o700 });
	} catch (error) {
		throw unwritable(dirname(path), error as NodeJS.ErrnoException);
	}
}

/**
 * Finds where the private directories of runs are made, and makes nothing.
 *
 * @throws StartError as {@link createRunDirectory}.
 */
export function runDirectoryBase(env: NodeJS.ProcessEnv = process.env): string {
	const [base] = runDirectoryBases(env, "refused");
	if (base === undefined)
		throw new StartError({
			code: "SOCKET_PATH_TOO_LONG",
			message: `No directory for sockets has a short enough path (a socket path has fewer than ${SOCKET_PATH_LIMIT} bytes): tried ${baseDirectories(env, "refused").join(", ")}. Set XDG_RUNTIME_DIR to a short path.`,
		});
	return base;
}

/** @param ofAnother what becomes of an `XDG_RUNTIME_DIR` in which others could exchange it. */
function runDirectoryBases(
	env: NodeJS.ProcessEnv,
	ofAnother: "refused" | "left_out",
): readonly string[] {
	return baseDirectories(env, ofAnother).filter(
		(base) =>
			Buffer.byteLength(base) + NAME_BYTES + RESERVED_BYTES < SOCKET_PATH_LIMIT,
	);
}

/** Two directories of ledgers may have the same run id: the owner distinguishes their runs. */
function prefixOf(runId: RunId, ownerKey: string): string {
	return `snakepit-${runId}-${ownerKey.slice(0, OWNER_CHARACTERS)}`;
}

/**
 * Finds the private directory of a run whose record is lost, by its name. Looks
 * where this program would make one; normally one, or none.
 */
export function findRunDirectories(
	runId: RunId,
	ownerKey: string,
	env: NodeJS.ProcessEnv = process.env,
): readonly string[] {
	const prefix = prefixOf(runId, ownerKey);
	// Fallback: a place that is not safe, or cannot be read, has none of ours.
	return withFallback([], () =>
		baseDirectories(env, "refused").flatMap((base) =>
			readdirSync(base)
				.filter(
					(name) =>
						name.startsWith(prefix) &&
						name.length === prefix.length + SUFFIX_BYTES,
				)
				.map((name) => join(base, name))
				.filter((path) => isRunDirectory(path, runId)),
		),
	);
}

function baseDirectories(
	env: NodeJS.ProcessEnv,
	ofAnother: "refused" | "left_out",
): string[] {
	const bases: string[] = [];
	const runtime = env["XDG_RUNTIME_DIR"];
	const stats = runtime?.startsWith("/") ? lookAt(runtime) : undefined;
	if (runtime !== undefined && stats !== undefined) {
		const problem = ownershipProblem(stats, "not_writable_by_others");
		if (problem === undefined) bases.push(runtime);
		else if (ofAnother === "refused") throw unsafe(runtime, problem);
	}
	for (const temporary of [tmpdir(), "/tmp"]) {
		const stats = lookAt(temporary);
		if (stats === undefined) continue;
		// On macOS /tmp itself is a link.
		const real = realpathSync(temporary);
		if (isExchangeProof(lstatSync(real))) bases.push(real);
	}
	if (bases.length === 0)
		throw unsafe(tmpdir(), "can be written by others and is not sticky");
	return bases;
}

/** Whether only its owner (this user or root) can replace its content. */
function isExchangeProof({ mode, uid }: Stats): boolean {
	if (uid !== 0 && uid !== process.getuid?.()) return false;
	return (mode & 0o022) === 0 || (mode & STICKY) !== 0;
}

/** What this user may not look at is not there for it. */
function lookAt(path: string): Stats | undefined {
	return withFallback(undefined, () =>
		lstatSync(path, { throwIfNoEntry: false }),
	);
}

/**
 * Says what is wrong with a directory, or nothing.
 *
 * `"own"`: it is this user's. `"private"`: no other user may enter. `"not_writable_by_others"`: no other user
 * may exchange what is in it.
 */
export function ownershipProblem(
	stats: Stats,
	wanted: "own" | "private" | "not_writable_by_others",
	uid: number = process.getuid?.() ?? -1,
): string | undefined {
	if (stats.isSymbolicLink()) return "is a symbolic link";
	if (!stats.isDirectory()) return "is not a directory";
	if (stats.uid !== uid)
		return `belongs to user ${stats.uid} and this program runs as user ${uid}`;
	if (wanted === "own") return undefined;
	if (wanted === "private" && (stats.mode & 0o077) !== 0)
		return "can be entered by others";
	if ((stats.mode & 0o022) !== 0 && (stats.mode & STICKY) === 0)
		return "can be written by others";
	return undefined;
}

function unsafe(path: string, problem: string): StartError {
	return new StartError({
		code: "RUNTIME_DIRECTORY_UNSAFE",
		message: `The runtime directory ${path} ${problem}. Sockets are created only where no other user can replace them: set XDG_RUNTIME_DIR, or TMPDIR where that is not set, to a directory of your own with mode 0700.`,
	});
}

function unwritable(path: string, error: NodeJS.ErrnoException): StartError {
	const remedy = unwritableRemedy(error.code);
	return new StartError({
		code: "RUNTIME_DIRECTORY_UNWRITABLE",
		message: `The runtime directory ${path}, for sockets and scratch files, cannot be written (${error.message}). ${remedy}${remedy && " "}Or set XDG_RUNTIME_DIR, or TMPDIR where that is not set, to a directory of your own with mode 0700.`,
		cause: error,
	});
}

/** Whether a path is the private directory of that very run, made by {@link createRunDirectory} for this user. */
export function isRunDirectory(path: string, runId: RunId): boolean {
	if (!basename(path).startsWith(`snakepit-${runId}-`)) return false;
	const stats = lookAt(path);
	return (
		stats !== undefined && ownershipProblem(stats, "private") === undefined
	);
}

/** Returns whether nothing is there any more. To remove a directory takes a descriptor, to remove a file takes none. */
export function removePath(path: string): boolean {
	try {
		unlinkSync(path);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return true;
	}
	return withFallback(false, () => {
		rmSync(path, { recursive: true, force: true });
		return true;
	});
}
