import { lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ControlClient, ControlError } from "./control-client.ts";

/** The names of the files in a run's private directory: the socket, and the file that a client needs to use it. */
export const SOCKET_NAME = "control.sock";
export const RECORD_NAME = "control.json";

/** The content of the file next to the socket, which only this user can read. */
export interface ControlRecord {
	readonly runId: string;
	readonly pid: number;
	readonly program: string;
	/** Its real path. */
	readonly dataDir: string;
	/** Milliseconds since the Unix epoch. */
	readonly startedAtMs: number;
	readonly token: string;
}

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
 * @param dataDirectory only runs of this data directory; all by default.
 * @param known private directories of runs that are left out, and not connected to.
 */
export async function findRuns(
	dataDirectory?: string,
	known: ReadonlySet<string> = new Set(),
	env: NodeJS.ProcessEnv = process.env,
): Promise<readonly FoundRun[]> {
	const runtime = env["XDG_RUNTIME_DIR"];
	const bases = [runtime?.startsWith("/") ? runtime : [], tmpdir(), "/tmp"];
	const parents = new Set(bases.flat().flatMap(real));
	const dataDir =
		dataDirectory === undefined ? undefined : real(dataDirectory)[0];
	if (dataDirectory !== undefined && dataDir === undefined) return [];
	const directories = [...parents].flatMap(directoriesIn);
	const runs = directories.flatMap((directory) => {
		if (known.has(directory)) return [];
		const record = readRecord(directory);
		if (record === undefined) return [];
		const { token: _, ...run } = record;
		return dataDir === undefined || run.dataDir === dataDir
			? [{ ...run, directory }]
			: [];
	});
	const living = await Promise.all(
		runs.map(async (run) => ((await listens(run.directory)) ? run : [])),
	);
	return living.flat().toSorted((a, b) => b.startedAtMs - a.startedAtMs);
}

/** Reads the file next to the socket of a run; `undefined` if there is no file that this user may read and trust. */
function readRecord(directory: string): ControlRecord | undefined {
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

/** Which run is attached to, and how. */
export interface AttachOptions {
	/** Only runs in this data directory; by default, all of this user's runs. */
	readonly dataDir?: string | undefined;
	/** The run's id or a prefix of it; needed if there are several runs. */
	readonly run?: string | undefined;
	/** Who makes the requests, for the program's events and its ledger; by default, the name of this program. Its pid is added. */
	readonly by?: string | undefined;
	/** How long the program may be silent, in milliseconds, before it counts as hung. @default 5 000 ms */
	readonly silentMs?: number | undefined;
}

export const ATTACH_DEFAULTS = { silentMs: 5_000 } as const;

/** What each option may be; returns what is wrong with a value. */
export const ATTACH_CHECKS: Readonly<
	Record<keyof AttachOptions, (value: unknown) => string | undefined>
> = {
	dataDir: aText,
	run: aText,
	by: aText,
	silentMs: (value) =>
		value === undefined || (Number.isSafeInteger(value) && Number(value) > 0)
			? undefined
			: "must be a whole number from 1",
};

function aText(value: unknown): string | undefined {
	return value === undefined || (typeof value === "string" && value !== "")
		? undefined
		: "must be a string that is not empty";
}

/**
 * Finds a living run of this user, and returns a client of it. The client connects with its first request.
 *
 * @throws ControlError `NO_SUCH_RUN` with those that there are; `SEVERAL_RUNS`; `INVALID_OPTION`.
 */
export async function attach(
	options: AttachOptions = {},
): Promise<ControlClient> {
	check(options);
	const { run = "", dataDir } = options;
	const all = await findRuns(dataDir);
	const fitting = all.filter(({ runId }) => runId.startsWith(run));
	const [match] = fitting;
	if (match === undefined) throw noSuchRun(options, all);
	if (fitting.length > 1) throw severalRuns(fitting);
	const client = clientOf(match, options);
	if (client === undefined) throw noSuchRun(options, all);
	return client;
}

/**
 * Returns a client of a run that was found; `undefined` when it has ended since.
 *
 * @throws ControlError `INVALID_OPTION`.
 */
export function clientOf(
	run: FoundRun,
	options: Pick<AttachOptions, "by" | "silentMs"> = {},
): ControlClient | undefined {
	check(options);
	const record = readRecord(run.directory);
	if (record === undefined) return undefined;
	return new ControlClient({
		run,
		socketPath: join(run.directory, SOCKET_NAME),
		token: record.token,
		by: options.by ?? process.title,
		silentMs: options.silentMs ?? ATTACH_DEFAULTS.silentMs,
	});
}

function check(options: AttachOptions): void {
	for (const [name, value] of Object.entries(options)) {
		const isKnown = Object.hasOwn(ATTACH_CHECKS, name);
		const wrong = isKnown
			? ATTACH_CHECKS[name as keyof AttachOptions](value)
			: `is not an option. Known: ${Object.keys(ATTACH_CHECKS).join(", ")}`;
		if (wrong !== undefined)
			throw new ControlError({
				code: "INVALID_OPTION",
				message: `attach: "${name}" ${wrong}.`,
			});
	}
}

function noSuchRun(
	{ run, dataDir }: AttachOptions,
	all: readonly FoundRun[],
): ControlError {
	const subject = run === undefined ? "No run" : `No run "${run}"`;
	const where = dataDir === undefined ? "" : ` in ${dataDir}`;
	return new ControlError({
		code: "NO_SUCH_RUN",
		message: `${subject}${where} can be attached to. ${all.length === 0 ? "There is none. A program can be attached to while its run is open, unless its option control is false, or SNAKEPIT_CONTROL is 0." : `There is ${listed(all)}.`}`,
	});
}

function severalRuns(fitting: readonly FoundRun[]): ControlError {
	return new ControlError({
		code: "SEVERAL_RUNS",
		message: `${fitting.length} runs can be attached to: ${listed(fitting)}. Name one: with the option run, or with --run.`,
	});
}

function listed(runs: readonly FoundRun[]): string {
	return runs
		.map(({ runId, program, pid }) => `${runId} (${program}, pid ${pid})`)
		.join(", ");
}
