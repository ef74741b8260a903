import { spawnSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rows } from "../../../../scripts/test-effort.ts";
import { readRunFile } from "../../src/registry/history.ts";
import { takeLock } from "../../src/registry/run-lock.ts";
import {
	parseRunFile,
	type RunFileKind,
	runPath,
} from "../../src/registry/run-name.ts";
import { sqlite } from "../cleanup/bench.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";
import { CommittingHost, filesOfRuns } from "./committing-host.ts";

function overwrite(path: string): void {
	writeFileSync(path, Buffer.alloc(40_000, 0xa5));
}

type Damage = readonly [string, (path: string) => void];

// `test` does one damage in place and one exchange, `check` all of them.
const IN_PLACE: readonly Damage[] = rows<Damage>(
	[
		["truncated", (path) => truncateSync(path, 0)],
		["cut off", (path) => truncateSync(path, 5_000)],
		["overwritten", overwrite],
	],
	([damage]) => damage === "overwritten",
);
const EXCHANGES: readonly Damage[] = rows<Damage>(
	[
		["removed", (path) => rmSync(path)],
		["moved away", (path) => renameSync(path, `${path}.away`)],
		[
			"exchanged for an empty file",
			(path) => {
				rmSync(path);
				writeFileSync(path, "");
			},
		],
		[
			"exchanged for garbage",
			(path) => {
				rmSync(path);
				overwrite(path);
			},
		],
		[
			"exchanged for a directory",
			(path) => {
				rmSync(path);
				mkdirSync(path);
			},
		],
		[
			"exchanged for a pipe",
			(path) => {
				rmSync(path);
				spawnSync("mkfifo", [path]);
			},
		],
	],
	([exchange]) => exchange === "removed",
);

/** The path of one of the files of the only run. */
function pathOf(dataDir: string, kind: RunFileKind): string {
	const folder = join(dataDir, "runs");
	const names = readdirSync(folder).flatMap(
		(file) => parseRunFile(file)?.name ?? [],
	);
	const [name] = names;
	if (name === undefined) throw new Error(`There is no run in ${folder}.`);
	return runPath(folder, name, kind);
}

/** What a reader of another process finds in the ledger of the host. */
function readAs(path: string): {
	readonly kind: string;
	readonly living: number;
	readonly ended: number;
} {
	const name = parseRunFile(path.slice(path.lastIndexOf("/") + 1))?.name;
	if (name === undefined) throw new Error(`${path} is no run file.`);
	const content = readRunFile(sqlite, path, name);
	if (content.kind !== "readable")
		return { kind: content.kind, living: 0, ended: 0 };
	const ended = content.workers.filter(({ status }) => status === "ended");
	const living = content.workers.length - ended.length;
	return { kind: content.kind, living, ended: ended.length };
}

test.each([...IN_PLACE, ...EXCHANGES])(
	"a host lives on when each file beside its ledger is %s, again and again, and what it writes is there",
	{ timeout: 120_000 },
	async (_, damage) => {
		const dataDir = temporaryDirectory();
		const host = new CommittingHost(dataDir);
		await host.answer();
		await host.order("commit");
		const path = pathOf(dataDir, "db");
		for (const each of filesOfRuns(dataDir)) {
			if (each === path) continue;
			damage(each);
			await host.order("commit");
			await host.order("flush");
		}
		const { unwritten } = await host.order("flush");
		expect(unwritten).toBe(0);
		const { kind, living } = readAs(path);
		expect([kind, living]).toEqual(["readable", living]);
		expect(living).toBeGreaterThanOrEqual(2);
	},
);

test.each(IN_PLACE)(
	"a ledger that is %s under its host is written anew with what the host knows, and the damaged one set aside",
	{ timeout: 120_000 },
	async (_, damage) => {
		const dataDir = temporaryDirectory();
		const host = new CommittingHost(dataDir);
		const { runId } = await host.answer();
		await host.order("commit");
		const path = pathOf(dataDir, "db");
		damage(path);
		const { events, unwritten } = await host.order("flush");
		expect(events).toMatchObject([
			{
				type: "registry.file_lost",
				runId,
				file: "ledger",
				how: "damaged",
				path,
			},
			{ type: "registry.file_renewed", runId, file: "ledger", path },
		]);
		expect(unwritten).toBe(0);
		expect(readAs(path)).toEqual({ kind: "readable", living: 1, ended: 1 });
		expect(readdirSync(join(dataDir, "history"))).toContainEqual(
			expect.stringMatching(/\.db\.set-aside$/),
		);
		// Said once, and nothing is wrong any more.
		expect((await host.order("flush")).events).toEqual([]);
	},
);

test.each(EXCHANGES)(
	"a ledger that is %s under its host is written anew, with every worker that was in it",
	{ timeout: 120_000 },
	async (_, exchange) => {
		const dataDir = temporaryDirectory();
		const host = new CommittingHost(dataDir);
		await host.answer();
		await host.order("commit");
		const path = pathOf(dataDir, "db");
		exchange(path);
		const { events } = await host.order("flush");
		expect(events).toMatchObject([
			{
				type: "registry.file_lost",
				file: "ledger",
				how: expect.stringMatching(/^(removed|replaced)$/),
			},
			{ type: "registry.file_renewed", file: "ledger" },
		]);
		expect(readAs(path)).toEqual({ kind: "readable", living: 1, ended: 1 });
		expect(statSync(path).mode & 0o777).toBe(0o600);
		await host.order("commit");
		expect(readAs(path)).toEqual({ kind: "readable", living: 2, ended: 2 });
	},
);

test("a commit that finds the ledger exchanged writes it anew at once, and nothing is left unwritten", {
	timeout: 120_000,
}, async () => {
	const dataDir = temporaryDirectory();
	const host = new CommittingHost(dataDir);
	await host.answer();
	await host.order("commit");
	const path = pathOf(dataDir, "db");
	rmSync(path);
	const { events, unwritten } = await host.order("commit");
	expect(events.map(({ type }) => type)).toEqual([
		"registry.file_lost",
		"registry.file_renewed",
	]);
	expect(unwritten).toBe(0);
	expect(readAs(path)).toEqual({ kind: "readable", living: 2, ended: 2 });
});

test.each(EXCHANGES)(
	"a lock that is %s under its host is made and held anew",
	{ timeout: 120_000 },
	async (_, exchange) => {
		const dataDir = temporaryDirectory();
		const host = new CommittingHost(dataDir);
		await host.answer();
		const path = pathOf(dataDir, "lock");
		exchange(path);
		const { events } = await host.order("flush");
		expect(events).toMatchObject([
			{ type: "registry.file_lost", file: "lock", path },
			{ type: "registry.file_renewed", file: "lock", path },
		]);
		expect(takeLock(sqlite, path)).toBe("held");
		await host.kill();
		expect(takeLock(sqlite, path)).not.toBe("held");
	},
);

test("a host whose whole directory was removed makes it again, and the next start finds its workers", {
	timeout: 120_000,
}, async () => {
	const dataDir = join(temporaryDirectory(), "state");
	const host = new CommittingHost(dataDir);
	const { runId } = await host.answer();
	await host.order("commit");
	rmSync(dataDir, { recursive: true });
	const { events } = await host.order("flush");
	expect(events.map(({ type }) => type).sort()).toEqual([
		"registry.file_lost",
		"registry.file_lost",
		"registry.file_renewed",
		"registry.file_renewed",
	]);
	for (const folder of ["", "runs", "history"])
		expect(statSync(join(dataDir, folder)).mode & 0o777).toBe(0o700);
	expect(takeLock(sqlite, pathOf(dataDir, "lock"))).toBe("held");
	await host.kill();
	const next = await new CommittingHost(dataDir).answer();
	expect(next.events).toContainEqual(
		expect.objectContaining({ type: "cleanup.finished", deadRuns: 1 }),
	);
	expect(next.runId).not.toBe(runId);
});

test("what cannot be written anew is reported once, the host runs on, and it is written when that is possible", {
	timeout: 120_000,
}, async () => {
	const place = temporaryDirectory();
	const dataDir = join(place, "state");
	const host = new CommittingHost(dataDir);
	await host.answer();
	await host.order("commit");
	renameSync(dataDir, join(place, "away"));
	// A file is in the way: no user, not even root, can make a directory here.
	writeFileSync(dataDir, "in the way");
	const first = await host.order("flush");
	expect(first.events.map(({ type }) => type)).toEqual([
		"registry.file_lost",
		"registry.file_lost",
		"registry.degraded",
	]);
	expect((await host.order("commit")).unwritten).toBeGreaterThan(0);
	expect((await host.order("flush")).events).toEqual([]);
	expect(readFileSync(dataDir, "utf8")).toBe("in the way");
	rmSync(dataDir);
	const last = await host.order("flush");
	expect(last.unwritten).toBe(0);
	expect(last.events.map(({ type }) => type)).toEqual([
		"registry.file_renewed",
		"registry.file_renewed",
		"registry.recovered",
	]);
	expect(existsSync(pathOf(dataDir, "db"))).toBe(true);
	expect(readAs(pathOf(dataDir, "db"))).toMatchObject({ living: 2, ended: 2 });
});
