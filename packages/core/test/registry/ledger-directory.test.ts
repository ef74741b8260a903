import {
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	realpathSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RunId } from "../../src/contract/identity.ts";
import {
	boundHistory,
	type HistoryFile,
	surplusHistory,
} from "../../src/registry/history.ts";
import { LedgerDirectory } from "../../src/registry/ledger-directory.ts";
import { RunFile } from "../../src/registry/run-file.ts";
import {
	formatRunName,
	parseRunFile,
	runNameOf,
	runPath,
} from "../../src/registry/run-name.ts";
import { sqlite } from "../cleanup/bench.ts";
import { craftRun, deadOwner } from "../cleanup/crafted-run.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";

const name = runNameOf("abcdefg" as RunId, deadOwner());

test("its folders are private, and creating them again is not a failure", () => {
	const path = temporaryDirectory();
	for (const { runs, history } of [
		new LedgerDirectory(path),
		new LedgerDirectory(path),
	])
		for (const folder of [runs, history])
			expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test("a folder that was opened for others is closed again, and a link is refused", () => {
	const path = temporaryDirectory();
	mkdirSync(join(path, "runs"));
	chmodSync(join(path, "runs"), 0o777);
	const { runs } = new LedgerDirectory(path);
	expect(statSync(runs).mode & 0o777).toBe(0o700);
	renameSync(runs, join(path, "elsewhere"));
	symlinkSync(join(path, "elsewhere"), runs);
	expect(() => new LedgerDirectory(path)).toThrow(/symbolic link/);
});

test("when they are removed meanwhile nothing is listed", () => {
	const directory = new LedgerDirectory(temporaryDirectory());
	rmSync(directory.path, { recursive: true });
	expect([
		directory.openRuns(),
		directory.endedRuns(),
		directory.strayLocks(0, 0),
	]).toEqual([[], [], []]);
	expect(directory.isInUse(name)).toBe(false);
});

test("only runs are listed, whatever other files exist", async () => {
	const path = temporaryDirectory();
	const directory = new LedgerDirectory(path);
	const crafted = await craftRun(path);
	for (const other of ["notes.txt", "abcdefg.db"])
		writeFileSync(join(directory.runs, other), "");
	mkdirSync(join(directory.runs, "folder"));
	expect(directory.openRuns()).toEqual([crafted.name]);
	RunFile.open(sqlite, crafted.path).close("is_over");
	directory.retire(crafted.name);
	expect([directory.openRuns(), directory.endedRuns()]).toEqual([
		[],
		[crafted.name],
	]);
});

test("a directory has the same key before it is made, through a link to it, and when it was made again", () => {
	const place = realpathSync(temporaryDirectory());
	const path = join(place, "state");
	const { key } = new LedgerDirectory(path, "look");
	// It is in the marker of every worker.
	expect(key).toMatch(/^[0-9a-f]{12}$/);
	expect(new LedgerDirectory(path).key).toBe(key);
	symlinkSync(path, join(place, "link"));
	expect(new LedgerDirectory(join(place, "link"), "look").key).toBe(key);
	rmSync(path, { recursive: true });
	expect(new LedgerDirectory(path).key).toBe(key);
	expect(new LedgerDirectory(join(place, "another")).key).not.toBe(key);
});

test("a run id is taken by any other process's run, and not by one's own name", () => {
	const directory = new LedgerDirectory(temporaryDirectory());
	expect(directory.isInUse(name)).toBe(false);
	writeFileSync(runPath(directory.runs, name, "lock"), "");
	expect(directory.isInUse(name)).toBe(false);
	expect(directory.isInUse(runNameOf(name.runId, machine.self))).toBe(true);
	expect(directory.isInUse(runNameOf("other00" as RunId, machine.self))).toBe(
		false,
	);
});

test.each(["-journal", "-wal"])(
	"a run with a second file (%s) is not moved without it",
	(ending) => {
		const directory = new LedgerDirectory(temporaryDirectory());
		const path = runPath(directory.runs, name, "db");
		for (const each of ["", ending]) writeFileSync(path + each, "");
		directory.retire(name);
		expect(existsSync(path)).toBe(true);
		rmSync(path + ending);
		directory.retire(name);
		directory.retire(name); // Moved already, by another start.
		expect(readdirSync(directory.runs)).toEqual([]);
	},
);

test("a file of no use is set aside with what is beside it", () => {
	const directory = new LedgerDirectory(temporaryDirectory());
	const path = runPath(directory.runs, name, "db");
	for (const ending of ["", "-journal", "-wal", "-shm"])
		writeFileSync(path + ending, ending);
	const aside = directory.setAside(name);
	expect(aside).toBe(`${runPath(directory.history, name, "db")}.set-aside`);
	expect(readdirSync(directory.runs)).toEqual([]);
	expect(readdirSync(directory.history).length).toBe(4);
	expect(directory.setAside(name)).toBeUndefined();
	expect(directory.endedRuns()).toEqual([]);
});

test("a lock that is removed while it is being inspected is not reported as a stray", () => {
	const directory = new LedgerDirectory(temporaryDirectory());
	const path = runPath(directory.runs, name, "lock");
	writeFileSync(path, "");
	const later = Date.now() + 3_600_000;
	expect(directory.strayLocks(later, 60_000)).toEqual([name]);
	expect(directory.strayLocks(Date.now(), 60_000)).toEqual([]);
	rmSync(path);
	// What is there by name only, as one that was removed after its name was read.
	symlinkSync("/nowhere/at/all", path);
	expect(directory.strayLocks(later, 60_000)).toEqual([]);
	rmSync(path);
	mkdirSync(path.replace(/lock$/, "db"));
	writeFileSync(path, "");
	expect(directory.strayLocks(later, 60_000)).toEqual([]);
});

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
});

test("files beyond the bound are removed; one that cannot be removed, or is already gone, is not a failure", () => {
	const directory = new LedgerDirectory(temporaryDirectory());
	const old = new Date(2020, 1, 1);
	for (const name of ["old", "new"])
		writeFileSync(join(directory.history, name), "");
	mkdirSync(join(directory.history, "cannot-be-unlinked"));
	for (const name of ["old", "cannot-be-unlinked"])
		utimesSync(join(directory.history, name), old, old);
	symlinkSync("/nowhere", join(directory.history, "gone"));
	boundHistory(directory, Date.now(), { runs: 200, ageMs: 86_400_000 });
	expect(readdirSync(directory.history)).toEqual([
		"cannot-be-unlinked",
		"gone",
		"new",
	]);
});

const runName = runNameOf("abcdefg" as RunId, machine.self);

test("a file's name contains the run and the very process that owns it", () => {
	expect(formatRunName(runName)).toMatch(
		new RegExp(`^abcdefg\\.${process.pid}-[0-9a-f]{16}$`),
	);
	expect(runPath("/d", runName, "lock")).toBe(
		`/d/${formatRunName(runName)}.lock`,
	);
	for (const kind of ["db", "lock"] as const)
		expect(parseRunFile(`${formatRunName(runName)}.${kind}`)).toEqual({
			name: runName,
			kind,
		});
});

test.each([
	"",
	"notes.txt",
	"abcdefg.db",
	`${formatRunName(runName)}.db-wal`,
	`${formatRunName(runName)}.db.set-aside`,
	`x${formatRunName(runName)}.db`,
	"ABCDEFG.1-0123456789abcdef.db",
	"abcdefg.1-0123456789abcde.db",
	"abcdefg.12345678901-0123456789abcdef.db",
])("%j is no file of a run", (fileName) => {
	expect(parseRunFile(fileName)).toBeUndefined();
});
