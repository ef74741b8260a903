import { lstatSync } from "node:fs";
import nodeModule from "node:module";
import { dirname, join } from "node:path";
import type BetterSqlite3 from "better-sqlite3";
import { RegistryError, StartError } from "../contract/errors.ts";
import type { RegistryStatistics } from "../contract/process-registry.ts";
import { messageOf } from "../contract/thrown.ts";
import { loadLate } from "../os/load-late.ts";
import {
	type Execution,
	ownExecutable,
	thisExecution,
} from "../os/this-program.ts";
import type { Ledger } from "./ledger.ts";

// Not `createRequire` by name: webpack would resolve what it is given when it builds.

/** SQLite, loaded and found fit. */
export interface Sqlite {
	/**
	 * Opens a file that exists. It maps no memory that it shares with the file
	 * system: a mapped file that is truncated kills its reader with SIGBUS.
	 *
	 * Only this connection can use the file until a writer calls {@link shareFile}
	 * or closes it; a reader shares it with other readers.
	 */
	open(path: string, options: SqliteOpenOptions): SqliteConnection;
	/** Opens a database that is in memory only, with the content of a file if it is given. */
	inMemory(image?: Buffer): SqliteConnection;
	/** Opens a copy in memory, which can be changed without changing the file. */
	copy(connection: SqliteConnection): SqliteConnection;
}

interface SqliteOpenOptions {
	readonly readonly: boolean;
	/** How long a statement may block this event loop waiting for another's lock. */
	readonly busyTimeoutMs: number;
}

export interface SqliteConnection {
	readonly client: BetterSqlite3.Database;
	readonly ledger: Ledger;
}

/** Older ones cannot load the native module: they crash instead of throwing. */
const MINIMUM_NODE = "22.0.0";
/** Two connections that write and checkpoint at once could corrupt a WAL before. Source: sqlite.org/wal.html, section 11. */
const MINIMUM_SQLITE = "3.51.3";

/** In the header: the versions of the file format to write and to read; 1 is without WAL. Source: sqlite.org/fileformat2.html, section 1.3. */
const FORMAT_VERSIONS = [18, 19] as const;

const loadLedger = loadLate(() => import("./ledger.ts"));

/** What is loaded; exchanged in tests. */
export interface SqliteModules {
	readonly nodeVersion: string;
	load(): Promise<typeof BetterSqlite3>;
}

const installed: SqliteModules = {
	nodeVersion: process.versions.node,
	load: () => loadInstalled(thisExecution(), importInstalled),
};

async function importInstalled(): Promise<typeof BetterSqlite3> {
	return (await import("better-sqlite3")).default;
}

/** Loads the package from where a program that is executed like this has it. */
export async function loadInstalled(
	execution: Execution,
	importPackage: () => Promise<typeof BetterSqlite3>,
): Promise<typeof BetterSqlite3> {
	const own = ownExecutable(execution);
	// In a single executable application of Node, an import is looked for from the working directory, or nowhere.
	if (own !== undefined && execution.isSea) return loadBeside(own);
	try {
		return await importPackage();
	} catch (error) {
		if (own === undefined) throw error;
		return loadBeside(own);
	}
}

/** Loads the package that is installed beside an executable. By its path: an executable of Bun reads no package.json by itself. */
export function loadBeside(executable: string): typeof BetterSqlite3 {
	const require = nodeModule.createRequire(executable);
	const manifest = require.resolve("better-sqlite3/package.json");
	return require(join(dirname(manifest), require(manifest).main));
}

/**
 * Loads SQLite and Drizzle, after looking whether this Node can. Nothing else
 * loads them: together they take longer than the rest of the package.
 *
 * @throws StartError `NODE_TOO_OLD` or `OUT_OF_DESCRIPTORS`; RegistryError `REGISTRY_UNSUPPORTED` when
 *   the native module does not load here or is too old to be trusted.
 */
export async function loadSqlite(
	modules: SqliteModules = installed,
): Promise<Sqlite> {
	if (!isAtLeast(modules.nodeVersion, MINIMUM_NODE))
		throw new StartError({
			code: "NODE_TOO_OLD",
			message: `Snakepit needs Node ${MINIMUM_NODE} or newer, this is ${modules.nodeVersion}. Install a current Node from https://nodejs.org or with your version manager.`,
		});
	const { Ledger } = await loadLedger();
	const Database = await modules.load().catch(unusable);
	const version = sqliteVersion(Database);
	if (!isAtLeast(version, MINIMUM_SQLITE))
		throw new RegistryError({
			code: "REGISTRY_UNSUPPORTED",
			message: `The ledger needs SQLite ${MINIMUM_SQLITE} or newer, because older versions can corrupt it. better-sqlite3 has ${version}. Update better-sqlite3.`,
		});
	const inMemory = (image?: Buffer): SqliteConnection => {
		const client = new Database(image ?? ":memory:");
		return { client, ledger: new Ledger(client) };
	};
	return {
		inMemory,
		open(path, { readonly, busyTimeoutMs }) {
			for (const each of [path, ...BESIDE.map((ending) => path + ending)])
				assertPlainFile(each);
			const client = new Database(path, {
				readonly,
				fileMustExist: true,
				timeout: busyTimeoutMs,
			});
			client.pragma("mmap_size = 0");
			// A file with a WAL has its index in shared memory otherwise. Source: sqlite.org/wal.html, section 8.
			client.pragma("locking_mode = EXCLUSIVE");
			return { client, ledger: new Ledger(client) };
		},
		copy(connection) {
			const bytes = connection.client.serialize();
			// In memory there is no second file.
			for (const at of FORMAT_VERSIONS) bytes[at] = 1;
			return inMemory(bytes);
		},
	};
}

/**
 * Makes a connection that can write share its file with others between its
 * commits. Its journal is a second file that stays: to make and remove one for
 * each commit takes twice as long.
 */
export function shareFile({ client }: SqliteConnection): void {
	client.pragma("journal_mode = PERSIST");
	client.pragma("locking_mode = NORMAL");
	// The lock of the exclusive mode is released at the next access to the file.
	client.pragma("user_version", { simple: true });
}

/** The second files of a database: its journal, and those that an earlier version of Snakepit left. */
export const BESIDE: readonly string[] = ["-journal", "-wal", "-shm"];

/** Reading a pipe would block this program for ever, and a link leads to a file that is not ours. */
export function assertPlainFile(path: string): void {
	const stats = lstatSync(path, { throwIfNoEntry: false });
	if (stats === undefined || stats.isFile()) return;
	const error: NodeJS.ErrnoException = new Error(
		`${path} is not a regular file`,
	);
	error.code = "SQLITE_NOTADB";
	throw error;
}

function sqliteVersion(Database: typeof BetterSqlite3): string {
	try {
		const client = new Database(":memory:");
		const version = client.prepare("select sqlite_version()").pluck().get();
		client.close();
		return String(version);
	} catch (error) {
		return unusable(error);
	}
}

function unusable(error: unknown): never {
	throw sqliteUnusable(error);
}

/** Compares dotted numbers. */
export function isAtLeast(version: string, minimum: string): boolean {
	const have = version.split(".").map(Number);
	for (const [index, need] of minimum.split(".").map(Number).entries()) {
		const difference = Number(have[index]) - need;
		if (difference !== 0) return difference > 0;
	}
	return true;
}

/** Where its package is: a binary that is missing there is no bundler's doing. */
const OWN_PACKAGE = /[\\/]node_modules[\\/]better-sqlite3[\\/]/;
/** What its JavaScript, or a bundler's, throws when it runs in a file that is not its own. */
const OUT_OF_PLACE =
	/dynamic(ally)? require|\b(require|module|__dirname|__filename) is not defined|better_sqlite3\.node|bindings/i;
const NOT_FOUND = /^Cannot find (module|package) '(better-sqlite3)/;

const OUTSIDE = [
	'esbuild, Rollup and Rolldown: external: ["better-sqlite3"]',
	'webpack: externals: { "better-sqlite3": "commonjs better-sqlite3" }',
	'Vite: ssr: { external: ["better-sqlite3"] }',
	'Next.js: serverExternalPackages: ["better-sqlite3"]',
].join("; ");

/**
 * Says why the native module of SQLite does not load, by what its loading threw:
 * it is not there, it was bundled, or it does not fit this system.
 */
export function sqliteUnusable(
	cause: unknown,
	executable: string | undefined = ownExecutable(),
): RegistryError {
	const thrown = firstLine(cause);
	return new RegistryError({
		code: "REGISTRY_UNSUPPORTED",
		message: wordsFor(thrown, executable),
		cause,
	});
}

function wordsFor(thrown: string, executable: string | undefined): string {
	if (NOT_FOUND.test(thrown) && executable !== undefined)
		return `The ledger's native module better-sqlite3 is not installed beside this program (${thrown}). ${executable} contains the program, but not that module. Copy the package to ${join(dirname(executable), "node_modules", "better-sqlite3")}.`;
	if (NOT_FOUND.test(thrown))
		return `The ledger's native module better-sqlite3 is not installed where this program runs (${thrown}). A bundle does not contain it. Run npm install better-sqlite3 next to the program, or copy it there with its node_modules.`;
	if (OUT_OF_PLACE.test(thrown) && !OWN_PACKAGE.test(thrown))
		return `The ledger's native module better-sqlite3 was bundled, but its binary cannot be bundled (${thrown}). Keep it outside of the bundle, and install it where the program runs. ${OUTSIDE}.`;
	return `The ledger's native module better-sqlite3 does not load on this system (${process.platform}-${process.arch}: ${thrown}). It contains binaries for Linux (glibc 2.34 or newer, or musl) and macOS, on x64 and arm64: install it again on this system instead of copying node_modules; on an unsupported system, build it in its folder (npm run build-release).`;
}

/** Without the list of the modules that required it. */
function firstLine(error: unknown): string {
	const text = messageOf(error);
	return text.replace(/\n.*/s, "");
}

/** How many commits there were, and how long the event loop waited for them. */
export class CommitTimes {
	#commits = 0;
	#ms = 0;
	#longestMs = 0;

	get statistics(): Pick<
		RegistryStatistics,
		"commits" | "commitMs" | "longestCommitMs"
	> {
		return {
			commits: this.#commits,
			commitMs: this.#ms,
			longestCommitMs: this.#longestMs,
		};
	}

	/** One took so long, whether it succeeded or not. */
	tried(tookMs: number): void {
		this.#ms += tookMs;
		this.#longestMs = Math.max(this.#longestMs, tookMs);
	}

	succeeded(): void {
		this.#commits++;
	}
}
