import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";

const MIGRATIONS = join(import.meta.dirname, "../../migrations");

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
	const path = join(MIGRATIONS, "meta/_journal.json");
	return JSON.parse(readFileSync(path, "utf8")).entries;
}
