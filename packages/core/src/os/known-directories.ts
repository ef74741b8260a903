import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, type Stats } from "node:fs";
import {
	lstat,
	readdir,
	readFile,
	unlink,
	utimes,
	writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { withFallback } from "../contract/thrown.ts";
import { makeDirectories, ownershipProblem } from "./private-directory.ts";
import { usualStateDirectory } from "./state-directory.ts";

/** In the usual state directory: a file for each data directory that a program has chosen itself, with its path. */
const FOLDER = "directories";
/** When there are so many, those that are gone are forgotten, and then those that were not used for longest. */
const MOST = 100;
/** Longer paths cannot be opened anywhere. */
const PATH_BYTES = 4_096;

/**
 * Remembers a data directory that a program has chosen itself, for commands that look for what died. No program finds
 * another one by it. Whatever prevents it, such as a home that cannot be written, the program goes on without.
 *
 * @param dataDir its real path.
 */
export async function rememberDirectory(
	dataDir: string,
	machineId: string,
	env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
	const usual = usualStateDirectory(machineId, env);
	if (usual === undefined) return;
	const folder = join(usual, FOLDER);
	const path = join(folder, nameOf(dataDir));
	try {
		if (await isRefreshed(path)) return;
		makeDirectories(folder, 0o700);
		const stats = await lstat(folder);
		if (ownershipProblem(stats, "not_writable_by_others") !== undefined) return;
		await forgetSome(folder);
		await writeFile(path, dataDir, { mode: 0o600 });
	} catch {
		// Its commands need --data-dir then.
	}
}

/** The remembered data directories that are still there, the last used first. Changes nothing. */
export function knownDirectories(
	machineId: string,
	env: NodeJS.ProcessEnv = process.env,
): readonly string[] {
	const usual = usualStateDirectory(machineId, env);
	if (usual === undefined) return [];
	const folder = join(usual, FOLDER);
	// Fallback: there is none.
	return withFallback([], () => {
		// Another user's words must not decide what is read.
		if (ownershipProblem(lstatSync(folder), "not_writable_by_others"))
			return [];
		return readdirSync(folder)
			.flatMap((name) => entryOf(folder, name))
			.toSorted((a, b) => b.mtimeMs - a.mtimeMs)
			.map(({ path }) => path);
	});
}

function entryOf(
	folder: string,
	name: string,
): readonly { readonly path: string; readonly mtimeMs: number }[] {
	const file = join(folder, name);
	// Fallback: another program has forgotten it since.
	return withFallback([], () => {
		const stats = lstatSync(file);
		const path = isEntry(stats) ? readFileSync(file, "utf8") : "";
		const { mtimeMs } = stats;
		return isPathOf(name, path) && isOwn(path) ? [{ path, mtimeMs }] : [];
	});
}

/** Its name and its content prove each other: what was cut off by a crash is no entry. */
function isPathOf(name: string, path: string): boolean {
	return path.startsWith("/") && name === nameOf(path);
}

function nameOf(dataDir: string): string {
	return createHash("sha256").update(dataDir).digest("hex").slice(0, 24);
}

function isEntry(stats: Stats): boolean {
	return stats.isFile() && stats.size <= PATH_BYTES;
}

/** Whether it is there, and this user's. */
function isOwn(dataDir: string): boolean {
	return withFallback(
		false,
		() => ownershipProblem(lstatSync(dataDir), "own") === undefined,
	);
}

/** Notes that a directory is used again; `false` if it is not remembered. */
async function isRefreshed(path: string): Promise<boolean> {
	const now = new Date();
	return await utimes(path, now, now).then(
		() => true,
		() => false,
	);
}

/** Makes room for another one. */
async function forgetSome(folder: string): Promise<void> {
	const names = await readdir(folder);
	if (names.length < MOST) return;
	const entries = await Promise.all(
		names.map(async (name) => {
			const file = join(folder, name);
			const stats = await lstat(file);
			const path = isEntry(stats) ? await readFile(file, "utf8") : "";
			const isThere = isPathOf(name, path) && isOwn(path);
			return { file, usedMs: isThere ? stats.mtimeMs : 0 };
		}),
	);
	const latest = entries.toSorted((a, b) => b.usedMs - a.usedMs);
	const forgotten = latest.filter(
		({ usedMs }, index) => usedMs === 0 || index >= MOST - 1,
	);
	await Promise.allSettled(forgotten.map(({ file }) => unlink(file)));
}
