import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { expect, test } from "vitest";
import { MIGRATIONS } from "../../src/registry/gen/migrations.ts";
import { SCHEMA } from "../../src/registry/gen/schema.ts";
import { readRunFile } from "../../src/registry/history.ts";
import { RunFile, SCHEMA_VERSION } from "../../src/registry/run-file.ts";
import type { SqliteConnection } from "../../src/registry/sqlite.ts";
import { sqlite } from "../cleanup/bench.ts";
import {
	type CraftedRun,
	craftRun,
	deadOwner,
	workerRow,
} from "../cleanup/crafted-run.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

const FOLDER = join(import.meta.dirname, "../../migrations");

/** What each migration after the first changed, undone. */
const UNDO: Readonly<Record<1 | 2 | 3 | 4 | 5 | 6, string>> = {
	6: "drop table failed_calls;",
	5: `
		drop table acts;
		alter table runs drop column program_end;
		alter table workers drop column start_error;
		alter table workers drop column end_detail;
	`,
	4: "alter table workers rename column location to place;",
	3: "alter table workers drop column place;",
	2: `
		alter table runs drop column program;
		alter table workers drop column lifeline;
		alter table workers drop column tail;
		alter table workers drop column last_command;
	`,
	1: `
		drop table incidents;
		alter table runs drop column cleanup_ms;
	`,
};

/** Makes a run file what an earlier version wrote: with its migrations only. */
export function toVersion(version: 1 | 2 | 4, path: string): void {
	const database = new Database(path);
	const added = ([6, 5, 4, 3, 2, 1] as const).filter((each) => each >= version);
	database.exec(`
		${added.map((each) => UNDO[each]).join("")}
		delete from __drizzle_migrations where created_at > ${journal()[version - 1]?.when};
		pragma user_version = ${version};
	`);
	database.close();
}

function journal(): readonly { readonly when: number; readonly tag: string }[] {
	const path = join(FOLDER, "meta/_journal.json");
	return JSON.parse(readFileSync(path, "utf8")).entries;
}

/** A run file as an earlier version wrote it: with its migrations only. */
async function craftedBy(version: 1 | 2 | 4): Promise<CraftedRun> {
	const run = await craftRun(
		temporaryDirectory(),
		deadOwner(),
		{ killed: 3 },
		(runId) => [workerRow(runId)],
	);
	toVersion(version, run.path);
	return run;
}

const craftedByVersion1 = (): Promise<CraftedRun> => craftedBy(1);

test("a run of version 2 is read without loss and without changing it, and written to by this version", async () => {
	const { path, name } = await craftedBy(2);
	const writer = new Database(path);
	writer.exec(
		`insert into incidents (wall_ms, event, reported) values (7, '${JSON.stringify({ type: "protection.run_settled", wallMs: 7, protection: "guard", ofRun: name.runId, killed: 1, durationMs: 2 })}', 0)`,
	);
	writer.close();
	const before = readFileSync(path);
	const read = () => readRunFile(sqlite, path, name);
	const expected = {
		kind: "readable",
		run: { killed: 3, state: "running", program: undefined },
		workers: [
			{
				incarnation: `${name.runId}-1`,
				status: "active",
				lifeline: undefined,
				end: undefined,
			},
		],
		incidents: [{ type: "protection.run_settled", killed: 1 }],
	};
	expect(read()).toMatchObject(expected);
	expect(readFileSync(path).equals(before)).toBe(true);
	const file = RunFile.open(sqlite, path);
	expect(
		file.ledger.incidents.ofProtections(name.runId, "unreported"),
	).toHaveLength(1);
	file.close("goes_on");
	expect(read()).toMatchObject(expected);
	expect(tablesOf(path)).toMatchObject({ version: SCHEMA_VERSION });
});

test("the location of a worker on another machine is read from a file in which its column had another name", async () => {
	const { path, name } = await craftedBy(4);
	const location = { name: "rack-7", address: "10.0.0.7" };
	const writer = new Database(path);
	writer.prepare("update workers set place = ?").run(JSON.stringify(location));
	writer.close();
	const before = readFileSync(path);
	const expected = { kind: "readable", workers: [{ location }] };
	expect(readRunFile(sqlite, path, name)).toMatchObject(expected);
	expect(readFileSync(path).equals(before)).toBe(true);
	RunFile.open(sqlite, path).close("goes_on");
	expect(readRunFile(sqlite, path, name)).toMatchObject(expected);
});

/** The statements that made the tables of a file, as SQLite keeps them. */
function tablesOf(path: string): unknown {
	const database = new Database(path, { readonly: true });
	const tables = database
		.prepare(
			"select name from sqlite_master where type = 'table' and name not like 'sqlite%' order by name",
		)
		.pluck()
		.all();
	const version = database.pragma("user_version", { simple: true });
	database.close();
	return { tables, version };
}

test("a run of the first version is read without changing it", async () => {
	const { path, name } = await craftedByVersion1();
	const before = readFileSync(path);
	expect(readRunFile(sqlite, path, name)).toMatchObject({
		kind: "readable",
		run: { killed: 3, cleanupMs: undefined },
		workers: [{ incarnation: `${name.runId}-1` }],
	});
	expect(readFileSync(path).equals(before)).toBe(true);
	expect(tablesOf(path)).toMatchObject({ version: 1 });
});

test("also while its last changes are in the write-ahead log of an earlier version, without a file in shared memory", async () => {
	const { path, name } = await craftedByVersion1();
	const writer = new Database(path);
	writer.exec("pragma journal_mode = wal; update runs set killed = 9");
	const copy = join(temporaryDirectory(), "copy.db");
	for (const ending of ["", "-wal"]) copyFileSync(path + ending, copy + ending);
	writer.close();
	expect(readRunFile(sqlite, copy, name)).toMatchObject({ run: { killed: 9 } });
	expect(existsSync(`${copy}-shm`)).toBe(false);
});

test("the first that opens it to write brings it up to date, once", async () => {
	const { path, name } = await craftedByVersion1();
	for (let time = 0; time < 2; time++) {
		RunFile.open(sqlite, path).close("goes_on");
		expect(tablesOf(path)).toEqual({
			tables: [
				...["__drizzle_migrations", "acts", "failed_calls", "incidents"],
				...["runs", "workers"],
			],
			version: SCHEMA_VERSION,
		});
	}
	expect(readRunFile(sqlite, path, name)).toMatchObject({ run: { killed: 3 } });
});

test("one that was killed between the tables and the version is repeated without harm", async () => {
	const { path } = await craftedByVersion1();
	RunFile.open(sqlite, path).close("goes_on");
	const database = new Database(path);
	database.pragma("user_version = 1");
	database.close();
	RunFile.open(sqlite, path).close("goes_on");
	expect(tablesOf(path)).toMatchObject({ version: SCHEMA_VERSION });
});

test("one that cannot be brought up to date is closed again, and of no use to readers", async () => {
	const { path, name } = await craftedByVersion1();
	const database = new Database(path);
	database.exec("drop table runs");
	expect(() => RunFile.open(sqlite, path)).toThrow("runs");
	expect(readRunFile(sqlite, path, name)).toMatchObject({ kind: "unusable" });
	// A program that still held it would be in the way.
	database.exec("pragma locking_mode = exclusive; begin exclusive; rollback");
	database.close();
});

test("the migrations in the code are those of the files, in their order", () => {
	const migrationsFolder = join(import.meta.dirname, "../../migrations");
	const files = readMigrationFiles({ migrationsFolder });
	expect(files.length).toBeGreaterThan(0);
	expect(MIGRATIONS).toEqual(files);
});

/** The tables of a database, and the steps that are said to have made them. */
function content({ client }: SqliteConnection): readonly unknown[] {
	const tables = client.prepare("select type, name, sql from sqlite_master");
	const steps = client.prepare("select * from __drizzle_migrations");
	return [tables.all(), steps.all()];
}

test("the file of a new run has what all migrations make, without going through them", () => {
	const [made, migrated] = [sqlite.inMemory(), sqlite.inMemory()];
	made.client.exec(SCHEMA);
	migrated.ledger.migrate();
	expect(content(made)).toEqual(content(migrated));
	made.ledger.migrate();
	expect(content(made)).toEqual(content(migrated));
});
