import { readdirSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ProcessIdentity } from "@snakepit/core/infrastructure";
// A changed ledger is named as its owner would have named it.
import {
	parseRunFile,
	runNameOf,
	runPath,
} from "../../../packages/core/src/registry/run-name.ts";

/** The file of the only run of a ledger that is not over. */
export function openRunFile(dataDir: string): string {
	const directory = join(dataDir, "runs");
	const file = readdirSync(directory).find((name) => name.endsWith(".db"));
	if (file === undefined) throw new Error("The host left no run.");
	return join(directory, file);
}

/** Changes what a dead run records of its owner and of its workers' processes. */
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
	const { machineId, bootId, pidNamespace, pid, startTime } = recorded;
	database
		.prepare(
			"update runs set machine_id = ?, boot_id = ?, pid_namespace = ?, pid = ?, start_time = ?",
		)
		.run(machineId, bootId, pidNamespace, pid, startTime);
	const update = database.prepare(
		"update workers set identity = ?, group_id = ? where incarnation = ?",
	);
	for (const { incarnation, identity } of database
		.prepare("select incarnation, identity from workers")
		.all()) {
		const changed = { ...JSON.parse(String(identity)), ...workers };
		update.run(JSON.stringify(changed), changed.pid, String(incarnation));
	}
	database.close();
	// The owner is in the names of the files.
	const directory = dirname(path);
	const name = parseRunFile(basename(path))?.name;
	if (!name) throw new Error(`${path} is no run file.`);
	const next = runNameOf(name.runId, recorded);
	for (const kind of ["db", "lock"] as const)
		renameSync(runPath(directory, name, kind), runPath(directory, next, kind));
}
