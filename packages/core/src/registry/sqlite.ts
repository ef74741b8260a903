import { lstatSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type BetterSqlite3 from "better-sqlite3";
import { RegistryError, StartError } from "../errors.ts";
import type { Ledger } from "./schema.ts";

/** SQLite, loaded and found fit. */
export interface Sqlite {
	/**
	 * Opens a file that exists. It maps no memory that it shares with the file
	 * system: a mapped file that somebody truncates kills its reader with SIGBUS.
	 *
	 * Only this connection can use the file until a writer calls {@link shareFile}
	 * or closes it; a reader shares it with other readers.
	 */
	open(path: string, options: SqliteOpenOptions): SqliteConnection;
	/** Opens a copy in memory, which can be changed without changing the file. */
	copy(connection: SqliteConnection): SqliteConnection;
	/** Brings the tables up to date. */
	migrate(connection: SqliteConnection): void;
}

export interface SqliteOpenOptions {
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

const MIGRATIONS = fileURLToPath(new URL("../../migrations", import.meta.url));
/** In the header: the versions of the file format to write and to read; 1 is without WAL. Source: sqlite.org/fileformat2.html, section 1.3. */
const FORMAT_VERSIONS = [18, 19] as const;

/** What is loaded; exchanged in tests. */
export interface SqliteModules {
	readonly nodeVersion: string;
	load(): Promise<{
		readonly Database: typeof BetterSqlite3;
		readonly drizzle: (client: BetterSqlite3.Database) => Ledger;
		readonly migrate: (ledger: Ledger, migrationsFolder: string) => void;
	}>;
}

const installed: SqliteModules = {
	nodeVersion: process.versions.node,
	async load() {
		const { default: Database } = await import("better-sqlite3");
		const { loadDriver } = await import("./drizzle.ts");
		const { drizzle, migrate } = loadDriver();
		return {
			Database,
			drizzle: (client) => drizzle({ client }),
			migrate: (ledger, migrationsFolder) =>
				migrate(ledger, { migrationsFolder }),
		};
	},
};

/**
 * Loads SQLite, after looking whether this Node can.
 *
 * @throws StartError `NODE_TOO_OLD`; RegistryError `REGISTRY_UNSUPPORTED` when
 *   the native module does not load here or is too old to be trusted.
 */
export async function loadSqlite(
	modules: SqliteModules = installed,
): Promise<Sqlite> {
	if (!isAtLeast(modules.nodeVersion, MINIMUM_NODE))
		throw new StartError({
			code: "NODE_TOO_OLD",
			ran: "no",
			message: `Snakepit needs Node ${MINIMUM_NODE} or newer, this is ${modules.nodeVersion}. Install a current Node from https://nodejs.org or with your version manager.`,
		});
	const { Database, drizzle, migrate } = await modules.load().catch(unloadable);
	const version = sqliteVersion(Database);
	if (!isAtLeast(version, MINIMUM_SQLITE))
		throw new RegistryError({
			code: "REGISTRY_UNSUPPORTED",
			ran: "no",
			message: `The ledger needs SQLite ${MINIMUM_SQLITE} or newer, better-sqlite3 brought ${version}: older ones can corrupt it. Update better-sqlite3.`,
		});
	return {
		open(path, { readonly, busyTimeoutMs }) {
			assertPlainFile(path);
			const client = new Database(path, {
				readonly,
				fileMustExist: true,
				timeout: busyTimeoutMs,
			});
			client.pragma("mmap_size = 0");
			// A file with a WAL has its index in shared memory otherwise. Source: sqlite.org/wal.html, section 8.
			client.pragma("locking_mode = EXCLUSIVE");
			return { client, ledger: drizzle(client) };
		},
		copy(connection) {
			const bytes = connection.client.serialize();
			// In memory there is no second file.
			for (const at of FORMAT_VERSIONS) bytes[at] = 1;
			const client = new Database(bytes);
			return { client, ledger: drizzle(client) };
		},
		migrate: ({ ledger }) => migrate(ledger, MIGRATIONS),
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
	// The lock of the exclusive mode goes with the next look at the file.
	client.pragma("user_version", { simple: true });
}

/** Reading a pipe would block this program, and a link leads to a file that is not ours. */
function assertPlainFile(path: string): void {
	const stats = lstatSync(path, { throwIfNoEntry: false });
	if (stats === undefined || stats.isFile()) return;
	const error: NodeJS.ErrnoException = new Error(`${path} is no plain file`);
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
		return unloadable(error);
	}
}

function unloadable(error: unknown): never {
	throw new RegistryError({
		code: "REGISTRY_UNSUPPORTED",
		ran: "no",
		message: `The ledger's native module better-sqlite3 does not load on this system (${process.platform}-${process.arch}). It brings binaries for Linux (glibc 2.34 or newer, or musl) and macOS, on x64 and arm64: install again on this very system instead of copying node_modules, and on another system build it in its folder (npm run build-release).`,
		cause: error,
	});
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
