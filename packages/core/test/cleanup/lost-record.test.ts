import { spawnSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { rows } from "../../../../scripts/test-effort.ts";
import { reap } from "../../src/cleanup/reaper.ts";
import {
	formatMarker,
	markerOf,
	type RunId,
} from "../../src/contract/identity.ts";
import { doctor } from "../../src/inspect/doctor.ts";
import { directoriesOf } from "../../src/os/shared-memory.ts";
import { LedgerDirectory } from "../../src/registry/ledger-directory.ts";
import { openRun } from "../../src/run/open-run.ts";
import { reaperBench, start } from "./bench.ts";
import { craftRun, deadOwner } from "./crafted-run.ts";
import { Host, isAlive, machine, temporaryDirectory } from "./hosts.ts";

/** The files of the one run in a directory, by what their names end in. */
function fileOf(dataDir: string, ending: string): string {
	const folder = join(dataDir, "runs");
	const [name = ""] = readdirSync(folder).filter((each) =>
		each.endsWith(ending),
	);
	return join(folder, name);
}

function overwrite(path: string): void {
	writeFileSync(path, Buffer.alloc(20_000, 0xa5));
}

/** Another file in the place of one that its owner has open. */
function exchange(path: string): void {
	rmSync(path);
	overwrite(path);
}

const OF_EACH_GROUP: readonly string[] = [
	"its .db was removed",
	"its .lock was removed",
	"its .lock was exchanged for garbage",
	"all files of it are garbage",
	"its directory was removed",
];

/** What somebody did to the state of a run while its host lived. */
const DAMAGES: readonly (readonly [string, (dataDir: string) => void])[] = rows(
	[
		["its .db was removed", (dataDir) => rmSync(fileOf(dataDir, ".db"))],
		["its .lock was removed", (dataDir) => rmSync(fileOf(dataDir, ".lock"))],
		["its .lock is garbage", (dataDir) => overwrite(fileOf(dataDir, ".lock"))],
		[
			"its .lock was exchanged for garbage",
			(dataDir) => exchange(fileOf(dataDir, ".lock")),
		],
		[
			"its .lock was exchanged for a directory",
			(dataDir) => {
				const path = fileOf(dataDir, ".lock");
				rmSync(path);
				mkdirSync(path);
			},
		],
		[
			"its .lock was exchanged for a pipe",
			(dataDir) => {
				const path = fileOf(dataDir, ".lock");
				rmSync(path);
				spawnSync("mkfifo", [path]);
			},
		],
		[
			"its .lock was exchanged for a link",
			(dataDir) => {
				const path = fileOf(dataDir, ".lock");
				rmSync(path);
				symlinkSync("/nowhere/at/all", path);
			},
		],
		[
			"its .db was exchanged for garbage",
			(dataDir) => exchange(fileOf(dataDir, ".db")),
		],
		[
			"all files of it are garbage",
			(dataDir) => {
				const folder = join(dataDir, "runs");
				for (const name of readdirSync(folder)) exchange(join(folder, name));
			},
		],
		[
			"its directory was removed",
			(dataDir) => rmSync(dataDir, { recursive: true }),
		],
		[
			"its directory was moved away",
			(dataDir) => renameSync(dataDir, `${dataDir}-away`),
		],
	],
	// One of each group in `test`.
	([what]) => OF_EACH_GROUP.includes(what),
);

test.each(DAMAGES)(
	"the next start ends what a killed host left when %s, and the one after that finds nothing",
	{ timeout: 120_000 },
	async (_, damage) => {
		const place = temporaryDirectory();
		const dataDir = join(place, "state");
		// The private directories of the host, and where the next start looks for them.
		vi.stubEnv("TMPDIR", place);
		onTestFinished(() => void vi.unstubAllEnvs());
		const host = new Host(
			{ dataDir, workers: ["ignores-sigterm.sh"] },
			{ temporary: place },
		);
		const { runId, pids, runDirectory } = await host.up();
		damage(dataDir);
		await host.kill();
		expect(pids.map(isAlive)).toEqual([true]);

		const acquire = () => openRun({ dataDir });
		const next = await acquire();
		await next.close();
		expect(pids.map(isAlive)).toEqual([false]);
		expect(next.cleanupReport.deadRuns).toEqual([runId]);
		expect(next.cleanupReport.reaped).toContainEqual(
			expect.objectContaining({ ofRun: runId, pid: pids[0], how: "killed" }),
		);
		expect(directoriesOf(runDirectory, runId)).toEqual([]);

		const last = await acquire();
		await last.close();
		expect(last.cleanupReport).toMatchObject({ deadRuns: [], found: 0 });
		const left = readdirSync(join(dataDir, "runs"));
		expect(left.filter((name) => name.startsWith(runId))).toEqual([]);
	},
);

/** The marker of a run that has no record in the directory of a bench. */
function markerIn(
	dataDir: string,
	owner = deadOwner(),
	runId = "zzlost0" as RunId,
): string {
	return formatMarker(
		markerOf(runId, owner, new LedgerDirectory(dataDir, "look").key),
	);
}

test("a marked process is left alone when its owner lives, is of another pid namespace or boot, or has another data directory", async () => {
	const bench = reaperBench();
	const owner = await start("sleeps.sh");
	const elsewhere = temporaryDirectory();
	const ofOtherSpace = await start(
		"sleeps.sh",
		markerIn(bench.dataDir, deadOwner({ pidNamespace: "1" })),
	);
	const others = await Promise.all(
		[
			markerIn(bench.dataDir, owner.identity),
			markerIn(bench.dataDir, machine.self),
			markerIn(bench.dataDir, deadOwner({ bootId: "another" })),
			markerIn(elsewhere),
		].map((marker) => start("sleeps.sh", marker)),
	);
	expect(await reap(bench)).toMatchObject({
		deadRuns: [],
		reaped: [],
		sparedProcesses: [
			{ pid: ofOtherSpace.identity.pid, reason: "other_pid_namespace" },
		],
	});
	for (const { identity } of [ofOtherSpace, ...others])
		expect(isAlive(identity.pid)).toBe(true);
});

test("a start that cannot read the owner's identity spares what carries its marker", async () => {
	const owner = await start("sleeps.sh");
	const bench = reaperBench();
	const { observe } = machine;
	const marked = await start(
		"sleeps.sh",
		markerIn(bench.dataDir, owner.identity),
	);
	vi.spyOn(machine, "observe").mockImplementation((pid) =>
		pid === owner.identity.pid ? "unknown" : observe.call(machine, pid),
	);
	onTestFinished(() => void vi.restoreAllMocks());
	expect(await reap(bench)).toMatchObject({
		reaped: [],
		sparedProcesses: [{ pid: marked.identity.pid, reason: "identity_unknown" }],
	});
	expect(isAlive(marked.identity.pid)).toBe(true);
});

test("what carries the marker of a run whose file cannot be read now is ended, and the file stays for the next start", async () => {
	const bench = reaperBench();
	const { path, marker, name } = await craftRun(bench.dataDir);
	const { default: Database } = await import("better-sqlite3");
	const stranger = new Database(path);
	stranger.exec("begin exclusive");
	const orphan = await start("sleeps.sh", marker);
	expect(await reap(bench)).toMatchObject({
		deadRuns: [name.runId],
		sparedRuns: [{ runId: name.runId, reason: "unreadable" }],
		reaped: [{ pid: orphan.identity.pid, foundBy: "marker" }],
	});
	expect(existsSync(path)).toBe(true);
	stranger.close();
	expect(await reap(bench)).toMatchObject({ deadRuns: [name.runId], found: 0 });
});

test("what was beside a removed file goes with the orphans of its run, and what may be another's does not", async () => {
	const bench = reaperBench();
	const { path, lockPath, marker } = await craftRun(bench.dataDir);
	const orphan = await start("sleeps.sh", marker);
	rmSync(path);
	writeFileSync(`${path}-journal`, "");
	expect(await reap(bench)).toMatchObject({
		reaped: [{ pid: orphan.identity.pid }],
	});
	expect([lockPath, `${path}-journal`].map(existsSync)).toEqual([false, false]);
});

test("a strategy is asked about orphans of runs without a record too", async () => {
	const bench = reaperBench({ strategy: () => "spare" });
	const orphan = await start("sleeps.sh", markerIn(bench.dataDir));
	expect(await reap(bench)).toMatchObject({
		reaped: [],
		sparedProcesses: [{ pid: orphan.identity.pid, reason: "strategy" }],
	});
	expect(isAlive(orphan.identity.pid)).toBe(true);
});

test("the doctor counts them as the next start would find them", async () => {
	const dataDir = temporaryDirectory();
	const lost = await start("sleeps.sh", markerIn(dataDir));
	const crafted = await craftRun(dataDir);
	const recorded = await start("sleeps.sh", crafted.marker);
	const layers = await doctor({ dataDir });
	const reaper = layers.find(({ layer }) => layer === "reaper");
	expect(reaper?.detail).toMatch(
		/after 2 dead runs with 2 living processes; 0 runs are alive, and 0 cannot/,
	);
	for (const { identity } of [lost, recorded])
		expect(isAlive(identity.pid)).toBe(true);
	expect(dirname(crafted.path)).toBe(join(dataDir, "runs"));
});
