import {
	existsSync,
	linkSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { type ClaimOutcome, claimRun } from "../../src/cleanup/run-claim.ts";
import { readRunFile } from "../../src/registry/history.ts";
import { type RunLock, takeLock } from "../../src/registry/run-lock.ts";
import { runPath } from "../../src/registry/run-name.ts";
import { readFor } from "../registry/reading-program.ts";
import { blindTo, CLAIMANT, reaperBench, sqlite, start } from "./bench.ts";
import { craftRun, deadOwner, workerRow } from "./crafted-run.ts";
import { machine } from "./hosts.ts";

const NOTHING = { reaped: [], spared: [], ends: [], complete: true };

function spared(reason: string): object {
	return { kind: "spared", reason };
}

function settled(outcome: ClaimOutcome, complete = true): unknown {
	if (outcome.kind !== "claimed") throw new Error(`It is ${outcome.kind}.`);
	return outcome.claim.settle({ ...NOTHING, complete });
}

/** Somebody who writes a file and does not come to an end with it. */
function stranger(
	path: string,
	manner: "immediate" | "exclusive" = "immediate",
): Database.Database {
	const database = new Database(path);
	database.exec(`begin ${manner}`);
	onTestFinished(() => void database.close());
	return database;
}

test("a run whose owner's pid is its owner's still is alive, and its files are not opened", async () => {
	const bench = reaperBench();
	const owner = await start("sleeps.sh");
	const { name, path, lockPath } = await craftRun(
		bench.dataDir,
		owner.identity,
	);
	for (const file of [path, lockPath]) {
		rmSync(file);
		mkdirSync(file); // Opening would fail.
	}
	expect(claimRun(bench, name)).toEqual(spared("owner_alive"));
});

test("a pid that another process has by now is not the owner's", async () => {
	const bench = reaperBench();
	const { identity } = await start("sleeps.sh");
	const { name } = await craftRun(bench.dataDir, {
		...identity,
		startTime: "1",
	});
	expect(claimRun(bench, name)).toMatchObject({
		kind: "claimed",
		claim: { mayLive: true },
	});
});

test("after another boot of the same machine the owner is dead, and so is all that it started", async () => {
	const bench = reaperBench();
	const { name } = await craftRun(
		bench.dataDir,
		deadOwner({ bootId: "another" }),
	);
	expect(claimRun(bench, name)).toMatchObject({
		kind: "claimed",
		claim: { mayLive: false },
	});
});

test.each([
	["other_machine", { machineId: "another" }],
	["other_pid_namespace", { pidNamespace: "1" }],
])(
	"with its lock free, %s is spared all the same, and nothing is changed",
	async (reason, fields) => {
		const bench = reaperBench();
		const { name, path, lockPath } = await craftRun(
			bench.dataDir,
			deadOwner(fields),
		);
		expect(claimRun(bench, name)).toEqual(spared(reason));
		expect(existsSync(lockPath)).toBe(true);
		expect(readRunFile(sqlite, path, name)).toMatchObject({
			run: { state: "running", claimedBy: undefined },
		});
	},
);

test("an owner that cannot be read is neither gone nor ours", async () => {
	const owner = deadOwner();
	const bench = reaperBench({ host: blindTo(owner) });
	const { name } = await craftRun(bench.dataDir, owner);
	expect(claimRun(bench, name)).toEqual(spared("identity_unknown"));
});

test("a held lock is an owner that cannot be seen from here", async () => {
	const bench = reaperBench();
	const { name, lockPath } = await craftRun(bench.dataDir);
	const lock = takeLock(sqlite, lockPath) as RunLock;
	expect(claimRun(bench, name)).toEqual(spared("owner_alive"));
	lock.release("kept");
	expect(claimRun(bench, name).kind).toBe("claimed");
});

test("a held lock of a file of no use is an owner too: the file is not set aside", async () => {
	const bench = reaperBench();
	const { name, path, lockPath } = await craftRun(bench.dataDir);
	writeFileSync(path, "");
	const lock = takeLock(sqlite, lockPath) as RunLock;
	expect(claimRun(bench, name)).toEqual(spared("owner_alive"));
	expect(existsSync(path)).toBe(true);
	lock.release("kept");
});

test("the claim is on disk, a second starter sees whose it is, and settling ends both", async () => {
	const bench = reaperBench();
	const { name, path } = await craftRun(bench.dataDir);
	const outcome = claimRun(bench, name);
	expect(readRunFile(sqlite, path, name)).toMatchObject({
		run: { state: "shutting_down", claimedBy: `reaper:${CLAIMANT}` },
	});
	expect(claimRun(bench, name)).toEqual(spared("claimed_by_another"));
	expect(settled(outcome)).toEqual({ over: true });
	expect(claimRun(bench, name)).toEqual({ kind: "over" });
	expect(readdirSync(bench.directory.runs)).toEqual([]);
});

test("a claim that could not be finished is the next one's", async () => {
	const bench = reaperBench();
	const { name } = await craftRun(bench.dataDir, deadOwner(), {}, (runId) => [
		workerRow(runId),
	]);
	expect(settled(claimRun(bench, name), false)).toEqual({ over: false });
	const again = claimRun(bench, name);
	expect(again).toMatchObject({
		kind: "claimed",
		claim: { dead: { workers: [{ incarnation: `${name.runId}-1` }] } },
	});
	expect(settled(again)).toEqual({ over: true });
});

test("what a sibling of this very process has claimed is left to it: locks do not hold between two copies of SQLite", async () => {
	const bench = reaperBench();
	const sibling = await craftRun(bench.dataDir, machine.self);
	const { name } = await craftRun(bench.dataDir, deadOwner(), {
		claimedBy: `reaper:${sibling.name.runId}`,
	});
	expect(claimRun(bench, name)).toEqual(spared("claimed_by_another"));
});

test("what is in the place of a lock and is no file is moved away, and the owner's identity decides", async () => {
	const bench = reaperBench();
	const { name, lockPath } = await craftRun(bench.dataDir);
	rmSync(lockPath);
	mkdirSync(lockPath);
	expect(settled(claimRun(bench, name))).toEqual({ over: true });
	expect(existsSync(bench.directory.lockAside(name))).toBe(true);

	const other = await craftRun(bench.dataDir, deadOwner({ pidNamespace: "1" }));
	writeFileSync(other.lockPath, "no lock");
	expect(claimRun(bench, other.name)).toEqual(spared("other_pid_namespace"));
});

test("a lock file that has content and a second name keeps its content", async () => {
	const bench = reaperBench();
	const { name, lockPath } = await craftRun(bench.dataDir);
	writeFileSync(lockPath, "of use to somebody");
	linkSync(lockPath, `${lockPath}.other`);
	expect(settled(claimRun(bench, name))).toEqual({ over: true });
	for (const path of [`${lockPath}.other`, bench.directory.lockAside(name)])
		expect(readFileSync(path, "utf8")).toBe("of use to somebody");
});

test("a lock that was lost is made again for the time of the claim", async () => {
	const bench = reaperBench();
	const { name, lockPath } = await craftRun(bench.dataDir);
	rmSync(lockPath);
	const outcome = claimRun(bench, name);
	expect(claimRun(bench, name)).toEqual(spared("claimed_by_another"));
	expect(settled(outcome)).toEqual({ over: true });
});

test("a lock that was lost is not left behind for a run that is spared", async () => {
	const bench = reaperBench();
	const { name, lockPath } = await craftRun(
		bench.dataDir,
		deadOwner({ machineId: "another" }),
	);
	rmSync(lockPath);
	expect(claimRun(bench, name)).toEqual(spared("other_machine"));
	expect(existsSync(lockPath)).toBe(false);
});

test("a lock that was lost and cannot be made again spares the run", async () => {
	const bench = reaperBench();
	const { name, lockPath } = await craftRun(bench.dataDir);
	rmSync(lockPath);
	mkdirSync(lockPath);
	// What is in the way cannot be moved.
	mkdirSync(join(bench.directory.lockAside(name), "full"), { recursive: true });
	expect(claimRun(bench, name)).toEqual(spared("unreadable"));
});

test("a run whose file cannot be read at the moment is spared", async () => {
	const bench = reaperBench();
	const { name, path } = await craftRun(bench.dataDir);
	stranger(path, "exclusive");
	expect(claimRun(bench, name)).toEqual(spared("unreadable"));
});

test("a run that can be read and not be written is spared: no claim, no kill", async () => {
	const bench = reaperBench();
	const { name, path } = await craftRun(bench.dataDir);
	const holder = stranger(path);
	expect(claimRun(bench, name)).toEqual(spared("unreadable"));
	holder.exec("rollback");
	expect(claimRun(bench, name).kind).toBe("claimed");
});

test("a start that reads the run for 300 ms does not give it away: the claim and its end are written after it", async () => {
	const bench = reaperBench();
	const { name, path } = await craftRun(bench.dataDir);
	const first = await readFor(path, 300);
	const outcome = claimRun(bench, name);
	expect(outcome.kind).toBe("claimed");
	await first.exited;
	const second = await readFor(path, 300);
	expect(settled(outcome)).toEqual({ over: true });
	await second.exited;
});

test("a settlement that cannot be written is done again by the next start", async () => {
	const bench = reaperBench();
	const { name, path } = await craftRun(bench.dataDir);
	const outcome = claimRun(bench, name);
	const holder = stranger(path);
	expect(settled(outcome)).toEqual({ over: false });
	holder.exec("rollback");
	holder.close();
	expect(settled(claimRun(bench, name))).toEqual({ over: true });
});

test("a run that is over but was not moved is moved, even while another program reads it", async () => {
	const bench = reaperBench();
	const { name, path } = await craftRun(bench.dataDir, deadOwner(), {
		state: "terminated",
	});
	const reader = new Database(path, { readonly: true });
	reader.prepare("select * from runs").get();
	expect(claimRun(bench, name)).toEqual({ kind: "over" });
	expect(existsSync(runPath(bench.directory.history, name, "db"))).toBe(true);
	expect(readdirSync(bench.directory.runs)).toEqual([]);
	reader.close();
});

test("a file of no use is claimed by its name, and set aside when nothing is left", async () => {
	const bench = reaperBench();
	const { name, path } = await craftRun(bench.dataDir);
	writeFileSync(path, "not a database, whatever its name says".repeat(100));
	expect(settled(claimRun(bench, name), false)).toEqual({ over: false });
	expect(existsSync(path)).toBe(true);
	const aside = `${runPath(bench.directory.history, name, "db")}.set-aside`;
	expect(settled(claimRun(bench, name))).toEqual({
		over: true,
		setAside: {
			path: aside,
			reason: expect.stringContaining("not a database"),
		},
	});
	expect(readdirSync(bench.directory.runs)).toEqual([]);
});

test("a file of no use that cannot be moved stays for the next start", async () => {
	const bench = reaperBench();
	const { name, path, lockPath } = await craftRun(bench.dataDir);
	writeFileSync(path, "");
	mkdirSync(`${runPath(bench.directory.history, name, "db")}.set-aside`);
	expect(settled(claimRun(bench, name))).toEqual({ over: false });
	expect([path, lockPath].map(existsSync)).toEqual([true, true]);
});
