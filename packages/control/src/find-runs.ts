import { lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ControlRecord, RECORD_NAME, SOCKET_NAME } from "./place.ts";

/** A run that can be attached to. */
export interface FoundRun extends Omit<ControlRecord, "token"> {
	/** Its private directory. */
	readonly directory: string;
}

/** The names of the private directories of runs. */
const NAME = /^snakepit-[0-9a-z]{7}-\w{10}$/;

/**
 * Finds the runs of this user that listen now, newest first: in `XDG_RUNTIME_DIR`, the temporary directory and `/tmp`,
 * where programs make the private directories of their runs.
 *
 * @param wanted only runs of this data directory; all by default.
 */
export async function findRuns(
	wanted?: string,
	env: NodeJS.ProcessEnv = process.env,
): Promise<readonly FoundRun[]> {
	const runtime = env["XDG_RUNTIME_DIR"];
	const bases = [runtime?.startsWith("/") ? runtime : [], tmpdir(), "/tmp"];
	const places = new Set(bases.flat().flatMap(real));
	const dataDir = wanted === undefined ? undefined : real(wanted)[0];
	if (wanted !== undefined && dataDir === undefined) return [];
	const directories = [...places].flatMap(directoriesIn);
	const found = directories.flatMap((directory) => {
		const record = readRecord(directory);
		if (record === undefined) return [];
		const { token: _, ...run } = record;
		return dataDir === undefined || run.dataDir === dataDir
			? [{ ...run, directory }]
			: [];
	});
	const living = await Promise.all(
		found.map(async (run) => ((await listens(run.directory)) ? run : [])),
	);
	return living.flat().toSorted((a, b) => b.startedAtMs - a.startedAtMs);
}

/** Reads the file beside the socket of a run; `undefined` if there is no file that this user may read and trust. */
export function readRecord(directory: string): ControlRecord | undefined {
	try {
		const stats = lstatSync(directory);
		if (!stats.isDirectory() || stats.uid !== process.getuid?.()) return;
		// Another user who can write into it could make this client send its token elsewhere.
		if ((stats.mode & 0o077) !== 0) return;
		const text = readFileSync(join(directory, RECORD_NAME), "utf8");
		return JSON.parse(text) as ControlRecord;
	} catch {
		return undefined;
	}
}

function directoriesIn(base: string): readonly string[] {
	try {
		return readdirSync(base)
			.filter((name) => NAME.test(name))
			.map((name) => join(base, name));
	} catch {
		return [];
	}
}

function real(path: string): readonly string[] {
	try {
		return [realpathSync(path)];
	} catch {
		return [];
	}
}

/** A killed program leaves its socket behind, and nothing listens on it. A stopped program still listens. */
async function listens(directory: string): Promise<boolean> {
	const { promise, resolve } = Promise.withResolvers<boolean>();
	const socket = connect(join(directory, SOCKET_NAME));
	socket.on("connect", () => resolve(true));
	socket.on("error", () => resolve(false));
	return await promise.finally(() => socket.destroy());
}
