import { spawnSync } from "node:child_process";
import {
	copyFileSync,
	existsSync,
	lstatSync,
	mkdirSync,
	openSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	rmSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { RegistryError } from "../../src/contract/errors.ts";
import type { WorkerRecord } from "../../src/contract/process-registry.ts";
import { readRunFile } from "../../src/registry/history.ts";
import type { WorkerSelection } from "../../src/registry/ledger.ts";
import { writtenToDisk } from "../../src/registry/on-disk.ts";
import { RunFile, SCHEMA_VERSION } from "../../src/registry/run-file.ts";
import { runPath } from "../../src/registry/run-name.ts";
import type { Sqlite } from "../../src/registry/sqlite.ts";
import { sqlite } from "../cleanup/bench.ts";
import {
	type CraftedRun,
	craftRun,
	deadOwner,
	workerRow,
} from "../cleanup/crafted-run.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

/** Rows of every kind. */
function everyRow(runId: string): readonly WorkerRecord[] {
	const identity = deadOwner({ pid: 77 });
	return [
		workerRow(runId, {
			incarnation: "z",
			status: "reserved",
			activatedAt: undefined,
			files: ["/a", "b\n"],
		}),
		workerRow(runId, { incarnation: "y", identity, groupId: 77 }),
		workerRow(runId, {
			incarnation: "x",
			status: "ended",
			identity,
			endedAt: 3.5,
			end: {
				exit: { kind: "code", code: 0 },
				reason: "exited",
				killer: "none",
			},
		}),
		workerRow(runId, {
			incarnation: "w",
			status: "ended",
			end: {
				exit: { kind: "signal", signal: "SIGKILL" },
				reason: "hung",
				killer: "stop_ladder",
			},
		}),
		workerRow(runId, {
			incarnation: "v",
			status: "ended",
			end: { exit: undefined, reason: "vanished", killer: "unknown" },
		}),
	];
}

function crafted(): Promise<CraftedRun> {
	return craftRun(temporaryDirectory(), deadOwner(), {}, everyRow);
}

function change(path: string, statement: string): void {
	const database = new Database(path);
	database.exec(statement);
	database.close();
}

/** How many descriptors of this process are the file's; one where that cannot be seen. */
function openHere(path: string): number {
	if (!existsSync("/proc/self/fd")) return 1;
	const targets = readdirSync("/proc/self/fd").map((descriptor) => {
		try {
			return readlinkSync(`/proc/self/fd/${descriptor}`);
		} catch {
			return ""; // Closed meanwhile.
		}
	});
	return targets.filter((target) => target === path).length;
}

/** Source: sqlite.org/pragma.html#pragma_synchronous. */
const FULL = 2;

test("what is written is read again, workers in the order of their reservation", async () => {
	const { name, path, run } = await crafted();
	expect(readRunFile(sqlite, path, name)).toEqual({
		kind: "readable",
		run,
		workerCount: 5,
		incidents: [],
		acts: [],
		failedCalls: [],
		workers: everyRow(run.runId),
	});
});

test("a commit that was cut off by the death of its writer is rolled back, by any reader", async () => {
	const { name, path, run } = await crafted();
	const writer = new Database(path);
	// So that it writes before the end of its commit.
	writer.exec("pragma journal_mode = persist; pragma cache_spill = 1");
	writer.exec("pragma cache_size = 1; begin; update runs set killed = 5");
	writer.exec(
		"with recursive n(i) as (select 1 union all select i + 1 from n where i < 999) insert into incidents (wall_ms, event, reported) select i, hex(randomblob(99)), 0 from n",
	);
	const copy = join(temporaryDirectory(), "copy.db");
	for (const ending of ["", "-journal"])
		copyFileSync(path + ending, copy + ending);
	writer.close();
	expect(readFileSync(`${copy}-journal`)[0]).not.toBe(0);
	expect(() => {
		const reader = new Database(copy, { readonly: true });
		try {
			reader.prepare("select * from runs").get();
		} finally {
			reader.close();
		}
	}).toThrow(/readonly/);
	expect(readRunFile(sqlite, copy, name)).toMatchObject({
		kind: "readable",
		run,
		incidents: [],
	});
});

test("no file of a run is mapped into memory, by its owner or by a reader", async () => {
	const { path, name } = await crafted();
	const file = RunFile.open(sqlite, path);
	onTestFinished(() => file.close("goes_on"));
	file.commit((ledger) => ledger.incidents.markReported());
	expect(readRunFile(sqlite, path, name).kind).toBe("readable");
	expect(existsSync(`${path}-shm`)).toBe(false);
	if (existsSync("/proc/self/maps"))
		expect(readFileSync("/proc/self/maps", "utf8")).not.toContain(path);
});

test("others read between two commits, and a reader that stays is waited for no longer than 25 ms", async () => {
	const { path, name, run } = await crafted();
	const file = RunFile.open(sqlite, path);
	onTestFinished(() => file.close("goes_on"));
	file.write([], "", { ...run, killed: 5 });
	expect(readRunFile(sqlite, path, name)).toMatchObject({ run: { killed: 5 } });
	const reader = new Database(path, { readonly: true });
	reader.exec("begin");
	reader.prepare("select * from runs").get();
	expect(() => file.write([], "", { ...run, killed: 6 })).toThrow(/locked/);
	reader.close();
	file.write([], "", { ...run, killed: 6 });
	expect(readRunFile(sqlite, path, name)).toMatchObject({ run: { killed: 6 } });
});

test("the disk is waited for where a run ends, and not while it lasts", async () => {
	const { path, run } = await crafted();
	let client: Database.Database | undefined;
	const watched: Sqlite = {
		...sqlite,
		open(path, options) {
			const connection = sqlite.open(path, options);
			({ client } = connection);
			return connection;
		},
	};
	const file = RunFile.open(watched, path);
	onTestFinished(() => file.close("goes_on"));
	const waitsForDisk = (): boolean =>
		client?.pragma("synchronous", { simple: true }) === FULL;
	const rows = [{ worker: workerRow(run.runId), ordinal: 9 }];
	file.write([], "", run);
	expect(waitsForDisk()).toBe(false);
	file.write(rows, "m", undefined);
	expect(waitsForDisk()).toBe(false);
	file.write(rows, "m", run, "power_loss");
	expect(waitsForDisk()).toBe(true);
	file.write(rows, "m", undefined);
	file.writeEnds([], 1, run);
	expect(waitsForDisk()).toBe(true);
});

test("the file of a new run is read while it is still on its way to the disk, and only SQLite keeps it open then", async () => {
	const { run, name } = await crafted();
	const path = join(temporaryDirectory(), "new.db");
	const file = RunFile.create(sqlite, path, run);
	onTestFinished(() => file.close("goes_on"));
	expect(readRunFile(sqlite, path, name)).toMatchObject({ run, workers: [] });
	await file.onDisk;
	expect(openHere(path)).toBe(1);
});

test("a file that cannot be written out is reported, and a directory that cannot is not", async () => {
	const path = join(temporaryDirectory(), "file");
	const descriptor = openSync(path, "wx");
	rmSync(dirname(path), { recursive: true });
	await writtenToDisk(descriptor, path);
	const noFile = openSync("/dev/null", "w");
	await expect(writtenToDisk(noFile, path)).rejects.toThrow("fsync");
});

test("a run that has ended is one plain file, unless another process has it locked just then", async () => {
	const { path } = await crafted();
	const hasJournal = (): boolean => existsSync(`${path}-journal`);
	const stranger = new Database(path);
	const file = RunFile.open(sqlite, path);
	file.commit((ledger) => ledger.incidents.markReported());
	stranger.exec("begin immediate");
	file.close("is_over");
	expect(hasJournal()).toBe(true);
	stranger.close();
	RunFile.open(sqlite, path).close("is_over");
	expect(hasJournal()).toBe(false);
});

test("there are as many migrations as the schema's version counts", () => {
	const journal = join(
		import.meta.dirname,
		"../../migrations/meta/_journal.json",
	);
	expect(JSON.parse(readFileSync(journal, "utf8")).entries.length).toBe(
		SCHEMA_VERSION,
	);
});

test("a file that exists is never taken for a new run's", async () => {
	const { path, run } = await crafted();
	expect(() => RunFile.create(sqlite, path, run)).toThrow(RegistryError);
	expect(
		runPath("", { runId: run.runId, ownerPid: 1, ownerKey: "k" }, "db"),
	).toMatch(/\.db$/);
});

test("a new file that cannot be filled is closed again", async () => {
	const { run } = await crafted();
	const path = join(temporaryDirectory(), "new.db");
	const broken = { ...run, runId: undefined as unknown as typeof run.runId };
	expect(() => RunFile.create(sqlite, path, broken)).toThrow(RegistryError);
});

test("of the workers those are read that were asked for", async () => {
	const { name, path } = await crafted();
	const read = (selection: WorkerSelection): unknown => {
		const content = readRunFile(sqlite, path, name, selection);
		if (content.kind !== "readable") throw new Error(content.reason);
		expect(content.workerCount).toBe(5);
		return content.workers.map(({ incarnation }) => incarnation);
	};
	expect(read("all")).toEqual(["z", "y", "x", "w", "v"]);
	expect(read("living")).toEqual(["z", "y"]);
	expect(read("none")).toEqual([]);
	expect(read({ latest: 2 })).toEqual(["w", "v"]);
	expect(read({ latest: 99 })).toEqual(["z", "y", "x", "w", "v"]);
});

test.each<[string, (run: CraftedRun) => void]>([
	["empty", ({ path }) => writeFileSync(path, "")],
	["text", ({ path }) => writeFileSync(path, "no database ".repeat(1000))],
	["cut off in the middle", ({ path }) => truncateSync(path, 5000)],
	["cut off in its first page", ({ path }) => truncateSync(path, 90)],
	[
		"overwritten in the middle",
		({ path }) => {
			const bytes = readFileSync(path);
			writeFileSync(path, bytes.fill(0xa5, 4096));
		},
	],
	[
		"another program's database",
		({ path }) => {
			rmSync(path);
			change(path, "create table runs (run_id text)");
		},
	],
	[
		"of a newer schema",
		({ path }) => change(path, `pragma user_version = ${SCHEMA_VERSION + 1}`),
	],
	["without its tables", ({ path }) => change(path, "drop table workers")],
	["without its run", ({ path }) => change(path, "delete from runs")],
	[
		"of another run",
		({ path }) => change(path, "update runs set run_id = 'another'"),
	],
	["of another owner", ({ path }) => change(path, "update runs set pid = 5")],
	[
		"holding what cannot be understood",
		({ path }) => change(path, "update workers set files = '['"),
	],
])("a file that is %s is of no use, and says why", async (_, damage) => {
	const run = await crafted();
	damage(run);
	const before = readFileSync(run.path);
	expect(readRunFile(sqlite, run.path, run.name)).toEqual({
		kind: "unusable",
		reason: expect.stringMatching(/\w/),
	});
	expect(readFileSync(run.path).equals(before)).toBe(true);
});

test("a file that is locked or cannot be opened may be of use later", async () => {
	const { name, path } = await crafted();
	change(path, "pragma journal_mode = delete");
	const stranger = new Database(path);
	stranger.exec("begin exclusive");
	expect(readRunFile(sqlite, path, name)).toMatchObject({ kind: "unreadable" });
	stranger.close();
	expect(readRunFile(sqlite, path, name)).toMatchObject({ kind: "readable" });
	rmSync(path);
	expect(readRunFile(sqlite, path, name)).toMatchObject({ kind: "unreadable" });
});

test.each<[string, (path: string) => void]>([
	["a directory", (path) => mkdirSync(path)],
	["a link", (path) => symlinkSync("/dev/null", path)],
	["a pipe", (path) => void spawnSync("mkfifo", [path])],
])(
	"%s in the place of a run file is not opened, and of no use",
	async (_, put) => {
		const { name, path } = await crafted();
		rmSync(path);
		put(path);
		expect(lstatSync(path).isFile()).toBe(false);
		expect(readRunFile(sqlite, path, name)).toMatchObject({
			kind: "unusable",
			reason: expect.stringContaining("not a regular file"),
		});
	},
);

test("a locked file blocks the event loop only for a moment, however long it is locked", async () => {
	const { path, run } = await crafted();
	const file = RunFile.open(sqlite, path);
	const stranger = new Database(path);
	stranger.exec("begin immediate");
	const begunAt = performance.now();
	expect(() => file.write([], "", run)).toThrow(
		expect.objectContaining({ code: "SQLITE_BUSY" }),
	);
	// By default SQLite tries for 5 s.
	expect(performance.now() - begunAt).toBeLessThan(3_000);
	stranger.close();
	file.write([], "", run);
	file.close("goes_on");
});
