import { readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ProcessIdentity } from "@snakepit/core/infrastructure";
// A ledger that says something else is written as its owner would have written it.
import {
	parseRunFile,
	runNameOf,
	runPath,
} from "../../../packages/core/src/registry/run-name.ts";

/** The run files of a ledger that are not over. */
export function openRunFiles(dataDir: string): readonly string[] {
	const directory = join(dataDir, "runs");
	return readdirSync(directory)
		.filter((file) => file.endsWith(".db"))
		.map((file) => join(directory, file));
}

/** Every run file of a ledger. */
export function everyRunFile(dataDir: string): readonly string[] {
	return ["runs", "history"].flatMap((folder) =>
		readdirSync(join(dataDir, folder))
			.filter((file) => file.endsWith(".db"))
			.map((file) => join(dataDir, folder, file)),
	);
}

/**
 * Makes a dead run say something else: of its owner, and of the processes that
 * its workers were.
 */
export function rewriteDeadRun(
	path: string,
	owner: Partial<ProcessIdentity>,
	workers: Partial<ProcessIdentity>,
): void {
	const database = new DatabaseSync(path);
	const row = database.prepare("select * from runs").get() ?? {};
	const recorded: ProcessIdentity = {
		machineId: String(row["machine_id"]),
		bootId: String(row["boot_id"]),
		pidNamespace: String(row["pid_namespace"]),
		pid: Number(row["pid"]),
		startTime: String(row["start_time"]),
		...owner,
	};
	database
		.prepare(
			"update runs set machine_id = ?, boot_id = ?, pid_namespace = ?, pid = ?, start_time = ?",
		)
		.run(
			recorded.machineId,
			recorded.bootId,
			recorded.pidNamespace,
			recorded.pid,
			recorded.startTime,
		);
	const rows = database
		.prepare("select incarnation, identity from workers")
		.all();
	for (const { incarnation, identity } of rows) {
		const said = { ...JSON.parse(String(identity)), ...workers };
		database
			.prepare(
				"update workers set identity = ?, group_id = ? where incarnation = ?",
			)
			.run(JSON.stringify(said), said.pid, String(incarnation));
	}
	database.close();
	rename(path, recorded);
}

/** The owner is in the name of the files. */
function rename(path: string, owner: ProcessIdentity): void {
	const directory = join(path, "..");
	const name = parseRunFile(path.slice(directory.length + 1))?.name;
	if (!name) throw new Error(`${path} is no run file.`);
	const next = runNameOf(name.runId, owner);
	for (const kind of ["db", "lock"] as const)
		renameSync(runPath(directory, name, kind), runPath(directory, next, kind));
}
