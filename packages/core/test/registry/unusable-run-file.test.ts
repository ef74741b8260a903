import { spawnSync } from "node:child_process";
import {
	lstatSync,
	mkdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { readRunFile } from "../../src/registry/history.ts";
import { RunFile, SCHEMA_VERSION } from "../../src/registry/run-file.ts";
import { sqlite } from "../cleanup/bench.ts";
import type { CraftedRun } from "../cleanup/crafted-run.ts";
import { change, crafted } from "./run-file-bench.ts";

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
