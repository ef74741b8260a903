import {
	mkdirSync,
	readdirSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	boundHistory,
	HISTORY_BOUND,
	type HistoryFile,
	readRuns,
	surplusHistory,
} from "../../src/registry/history.ts";
import { LedgerDirectory } from "../../src/registry/ledger-directory.ts";
import { ownerKey, runPath } from "../../src/registry/run-name.ts";
import { sqlite } from "../cleanup/bench.ts";
import { craftRun, deadOwner } from "../cleanup/crafted-run.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";

test("the newest are kept up to a number, and none that is too old", () => {
	const files: HistoryFile[] = [30, 10, 20, 40].map((modifiedAt) => ({
		fileName: String(modifiedAt),
		modifiedAt,
	}));
	expect(surplusHistory(files, 40, { runs: 2, ageMs: 100 })).toEqual([
		"20",
		"10",
	]);
	expect(surplusHistory(files, 40, { runs: 10, ageMs: 15 })).toEqual([
		"20",
		"10",
	]);
	expect(surplusHistory(files, 40)).toEqual([]);
	expect(HISTORY_BOUND).toEqual({ runs: 200, ageMs: 30 * 86_400_000 });
});

test("files beyond the bound go; what cannot be removed and what is gone already is no failure", () => {
	const directory = new LedgerDirectory(temporaryDirectory());
	const old = new Date(2020, 1, 1);
	for (const name of ["old", "new"])
		writeFileSync(join(directory.history, name), "");
	mkdirSync(join(directory.history, "cannot-be-unlinked"));
	for (const name of ["old", "cannot-be-unlinked"])
		utimesSync(join(directory.history, name), old, old);
	symlinkSync("/nowhere", join(directory.history, "gone"));
	boundHistory(directory, Date.now());
	expect(readdirSync(directory.history)).toEqual([
		"cannot-be-unlinked",
		"gone",
		"new",
	]);
});

test("runs are read newest first, living and over; those of no use and this process's own are left out", async () => {
	const dataDir = temporaryDirectory();
	const directory = new LedgerDirectory(dataDir);
	const living = await craftRun(dataDir, deadOwner(), { startedAt: 1 });
	const over = await craftRun(dataDir, deadOwner(), {
		startedAt: 2,
		state: "terminated",
	});
	directory.retire(over.name);
	const damaged = await craftRun(dataDir);
	writeFileSync(damaged.path, "");
	await craftRun(dataDir, machine.self);
	const runs = readRuns(sqlite, directory, ownerKey(machine.self));
	expect(runs.map(({ runId }) => runId)).toEqual([
		over.name.runId,
		living.name.runId,
	]);
	expect(runs[0]).not.toHaveProperty("directory");
	expect(runPath(directory.history, over.name, "db")).toContain("history");
});
