import { spawnSync } from "node:child_process";
import {
	existsSync,
	readdirSync,
	rmSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test, vi } from "vitest";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import { directoriesOf } from "../../src/os/shared-memory.ts";
import type { Incident } from "../../src/registry/incidents.ts";
import { openRun } from "../../src/run/open-run.ts";
import type { Run } from "../../src/run/run.ts";
import { start } from "../cleanup/bench.ts";
import {
	CLOSED,
	craftRun,
	deadOwner,
	reserveWorker,
} from "../cleanup/crafted-run.ts";
import { Host, isAlive, temporaryDirectory } from "../cleanup/hosts.ts";

function acquire(dataDir: string): Promise<Run> {
	return openRun({ dataDir });
}

function change(path: string, statement: string): void {
	const database = new Database(path);
	database.exec(statement);
	database.close();
}

test.each<[string, (path: string) => void]>([
	["empty", (path) => writeFileSync(path, "")],
	["corrupt", (path) => writeFileSync(path, Buffer.alloc(20_000, 0xa5))],
	["truncated", (path) => truncateSync(path, 5_000)],
	[
		"foreign",
		(path) => {
			rmSync(path);
			change(path, "create table t (x)");
		},
	],
	["newer", (path) => change(path, "pragma user_version = 99")],
])(
	"a %s run file keeps no program from starting: its orphans are ended by marker, and it is set aside",
	async (_, damage) => {
		const dataDir = temporaryDirectory();
		const crafted = await craftRun(dataDir);
		damage(crafted.path);
		const orphan = await start("sleeps.sh", crafted.marker);
		const run = await acquire(dataDir);
		expect(run.cleanupReport).toMatchObject({
			deadRuns: [crafted.name.runId],
			reaped: [{ pid: orphan.identity.pid, foundBy: "marker" }],
			setAside: [{ path: expect.stringMatching(/\.set-aside$/) }],
		});
		expect(isAlive(orphan.identity.pid)).toBe(false);
		await run.close();
		expect(readdirSync(join(dataDir, "runs"))).toEqual([]);
	},
);

test("the private directories of a run whose file is of no use go too, when nothing of it lives", async () => {
	const dataDir = temporaryDirectory();
	// Where the host makes its own.
	vi.stubEnv("TMPDIR", dataDir);
	onTestFinished(() => void vi.unstubAllEnvs());
	const host = new Host({ dataDir, workers: ["sleeps.sh"] });
	const { runId, runDirectory } = await host.up();
	await host.kill();
	const incident: Incident = {
		type: "protection.host_death_detected",
		wallMs: 5,
		protection: "guard",
		ofRun: runId,
		pid: 70,
	};
	writeFileSync(
		join(runDirectory, "incidents.guard.jsonl"),
		`${JSON.stringify(incident)}\n`,
	);
	const folder = join(dataDir, "runs");
	for (const file of readdirSync(folder)) {
		const path = join(folder, file);
		if (file.endsWith(".db")) writeFileSync(path, "of no use");
		else if (!file.endsWith(".lock")) rmSync(path);
	}
	expect(directoriesOf(runDirectory, runId)).toContain(runDirectory);

	const events: SnakepitEvent[] = [];
	const spare = { cleanup: () => "spare" as const };
	const emit = (event: SnakepitEvent): void => void events.push(event);
	await (await openRun({ dataDir, ...spare, onEvent: emit })).close();
	expect(existsSync(runDirectory)).toBe(true);
	await (await openRun({ dataDir, onEvent: emit })).close();
	expect(directoriesOf(runDirectory, runId)).toEqual([]);
	expect(events).toContainEqual(incident);
});

test("a run file that another program holds is reported and left alone, and the start succeeds", async () => {
	const dataDir = temporaryDirectory();
	const crafted = await craftRun(dataDir);
	const stranger = new Database(crafted.path);
	stranger.exec("begin immediate");
	const run = await acquire(dataDir);
	expect(run.cleanupReport.sparedRuns).toEqual([
		{ runId: crafted.name.runId, reason: "unreadable" },
	]);
	await run.close();
	stranger.close();
	const next = await acquire(dataDir);
	expect(next.cleanupReport.deadRuns).toEqual([crafted.name.runId]);
	await next.close();
});

/** A file system of a few pages, where that may be mounted. */
function tinyDisk(options: string): string | undefined {
	const path = temporaryDirectory();
	const { status } = spawnSync("mount", [
		"-t",
		"tmpfs",
		"-o",
		options,
		"none",
		path,
	]);
	if (status !== 0) return undefined;
	onTestFinished(() => void spawnSync("umount", ["-l", path]));
	return path;
}

test("a full disk is a clear error at the start, and a running pool goes on without it", async ({
	skip,
}) => {
	const dataDir = tinyDisk("size=400k,mode=700");
	if (dataDir === undefined) skip("mounting a tmpfs is not permitted here");
	else {
		const ballast = join(dataDir, "ballast");
		const run = await acquire(dataDir);
		const { registry } = run.infrastructure;
		const reserve = (): string => {
			return reserveWorker(registry, {
				fingerprint: "x".repeat(10_000),
			});
		};
		const names = [reserve()];
		fill(ballast);
		while (registry.statistics().unwritten === 0) names.push(reserve());
		expect(registry.living().length).toBe(names.length);
		expect(registry.flush()).toBeGreaterThan(0);
		await expect(
			acquire(join(dataDir, "another")).then((another) => another.close()),
		).rejects.toMatchObject({
			name: "RegistryError",
			code: "REGISTRY_FULL",
			message: expect.stringMatching(/dataDir/),
		});
		rmSync(ballast);
		expect(registry.flush()).toBe(0);
		for (const incarnation of names) registry.end(incarnation, CLOSED);
		await run.close();
	}
});

function fill(path: string): void {
	for (let size = 400_000; size >= 1; size = Math.floor(size / 2)) {
		try {
			while (true) writeFileSync(path, Buffer.alloc(size), { flag: "a" });
		} catch {
			// A smaller piece may fit still.
		}
	}
}

test("a file system that is mounted read-only is a clear error", async ({
	skip,
}) => {
	const dataDir = tinyDisk("size=100k,mode=700,ro");
	if (dataDir === undefined) skip("mounting a tmpfs is not permitted here");
	else
		await expect(acquire(dataDir)).rejects.toMatchObject({
			code: "REGISTRY_UNWRITABLE",
			message: expect.stringContaining("EROFS"),
		});
});

test("crafted owners are dead", () => {
	expect(isAlive(deadOwner().pid)).toBe(false);
});
