import {
	existsSync,
	mkdirSync,
	renameSync,
	rmSync,
	statSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import {
	fateOf,
	identityAt,
	identityOf,
} from "../../src/registry/file-identity.ts";
import { type FileEvent, OwnFiles } from "../../src/registry/own-files.ts";
import type { RunFile } from "../../src/registry/run-file.ts";
import {
	mendLock,
	RunLock,
	removeFreeLock,
	takeLock,
} from "../../src/registry/run-lock.ts";
import { runNameOf, runPath } from "../../src/registry/run-name.ts";
import { sqlite } from "../cleanup/bench.ts";
import { deadOwner } from "../cleanup/crafted-run.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";
import { openRegistry as open, RENEWED } from "./registry-bench.ts";

test("untouched files are no loss, also while another process has the ledger locked", async () => {
	const { registry, reserve, types, path } = await open();
	reserve();
	registry.flush();
	const stranger = new Database(path);
	stranger.exec("begin exclusive");
	registry.flush();
	stranger.close();
	expect(types()).toEqual([]);
});

test("a ledger that was removed keeps what no memory has any more, one that was damaged loses that", async () => {
	const { files, run, path } = await open();
	const report = () => {};
	rmSync(path);
	expect(files.restore(run, [], 0, report)).toBe("kept");
	truncateSync(path, 100);
	expect(files.restore(run, [], 0, report)).toBe("emptied");
});

test("a ledger in which a living worker is missing is damaged, however sound it is as a file", async () => {
	const { registry, reserve, types, path, read } = await open();
	const incarnation = reserve();
	const stranger = new Database(path);
	stranger.exec("delete from workers");
	stranger.close();
	registry.flush();
	expect(types()).toEqual(RENEWED);
	expect(read()).toMatchObject({ workers: [{ incarnation }] });
});

test("a removed ledger whose old content cannot be read any more is made anew from memory", async () => {
	const { registry, reserve, files, path, read } = await open();
	const incarnation = reserve();
	files.file.close("goes_on");
	expect(files.file.image()).toBeUndefined();
	rmSync(path);
	registry.flush();
	expect(read()).toMatchObject({ workers: [{ incarnation }] });
});

test.each([
	["overwritten", (path: string) => writeFileSync(path, "x".repeat(20_000))],
	["emptied", (path: string) => truncateSync(path)],
	["cut short", (path: string) => truncateSync(path, 5_000)],
	[
		"robbed of a worker",
		(path: string) => {
			const stranger = new Database(path);
			stranger.exec("delete from workers");
			stranger.close();
		},
	],
])(
	"a ledger that was %s before it was removed is made anew from memory at one look",
	async (_how, damage) => {
		const { registry, reserve, types, path, read } = await open();
		const incarnation = reserve();
		damage(path);
		rmSync(path);
		registry.flush();
		expect(types()).toEqual(RENEWED);
		expect(read()).toMatchObject({
			kind: "readable",
			run: { runId: registry.runId },
			workers: [{ incarnation }],
		});
		registry.flush();
		expect(types()).toEqual(RENEWED);
	},
);

test("a run that ends just when its ledger was removed is recorded as ended all the same", async () => {
	const { registry, path, read } = await open();
	rmSync(path);
	registry.close();
	expect(read()).toMatchObject({ run: { state: "terminated", clean: true } });
});

test("what cannot be moved out of the way is reported once, and again only when that was possible meanwhile", async () => {
	const { registry, directory, path, types, events, name } = await open();
	const inTheWay = `${runPath(directory.history, name, "db")}.set-aside`;
	mkdirSync(inTheWay);
	rmSync(path);
	writeFileSync(path, "another");
	for (let look = 0; look < 3; look++) registry.flush();
	expect(types()).toEqual(["registry.file_lost", "registry.degraded"]);
	expect(events.of("registry.degraded")).toMatchObject([
		{
			code: "REGISTRY_UNWRITABLE",
			message: expect.stringMatching(/cannot be recreated.*audit.intervalMs/s),
		},
	]);
	rmSync(inTheWay, { recursive: true });
	registry.flush();
	expect(types().at(-1)).toBe("registry.file_renewed");
	mkdirSync(`${inTheWay}x`);
	rmSync(inTheWay);
	renameSync(`${inTheWay}x`, inTheWay);
	rmSync(path);
	writeFileSync(path, "another");
	registry.flush();
	expect(types().slice(-2)).toEqual([
		"registry.file_lost",
		"registry.degraded",
	]);
});

test("files in a directory that cannot be read are not reported as lost", async () => {
	const { directory, name, run, files, lock } = await open();
	const file = { ...files.file, path: "x".repeat(10_000) } as RunFile;
	const unreadable = new OwnFiles({ sqlite, directory, name, file, lock });
	const report = (event: FileEvent) => expect.fail(event.type);
	expect(() => unreadable.losses([])).toThrow("ENAMETOOLONG");
	expect(unreadable.restore(run, [], 0, report)).toBe("untouched");
});

test("a directory that has the name of a journal is moved away with what is in it", async () => {
	const { directory, registry, path, name, types } = await open();
	rmSync(path);
	rmSync(`${path}-journal`, { force: true });
	mkdirSync(`${path}-journal/full`, { recursive: true });
	registry.flush();
	expect(types()).toEqual(RENEWED);
	expect(
		existsSync(
			`${runPath(directory.history, name, "db")}.set-aside-journal/full`,
		),
	).toBe(true);
});

test("a file is known by what it is, not by its path", () => {
	const directory = temporaryDirectory();
	const path = join(directory, "a");
	writeFileSync(path, "");
	const made = identityOf(path);
	expect(fateOf(path, made)).toBe("there");
	writeFileSync(`${path}b`, "");
	renameSync(`${path}b`, path);
	expect(fateOf(path, made)).toBe("replaced");
	expect(fateOf(join(path, "below"), made)).toBe("removed");
	expect(() => identityAt("x".repeat(10_000))).toThrow("ENAMETOOLONG");
});

test("a lock that another program holds by now is reported, and not taken from it", async () => {
	const { registry, files, lockPath, events, types } = await open();
	rmSync(lockPath);
	writeFileSync(lockPath, "");
	// Another copy of SQLite in this process would not see the lock; another connection of this one does.
	const other = takeLock(sqlite, lockPath);
	if (!(other instanceof RunLock)) throw new Error(`It is ${other}.`);
	registry.flush();
	expect(types()).toEqual(["registry.file_lost", "registry.degraded"]);
	expect(events.of("registry.degraded")).toMatchObject([
		{ message: expect.stringContaining("held") },
	]);
	other.release("kept");
	registry.flush();
	expect(types().at(-1)).toBe("registry.file_renewed");
	expect(takeLock(sqlite, lockPath)).toBe("held");
	expect(files.losses([])).toEqual([]);
});

test("a lock that was filled is emptied and held", async () => {
	const { registry, lockPath, types } = await open();
	rmSync(lockPath);
	writeFileSync(lockPath, "no lock");
	registry.flush();
	expect(types()).toEqual(RENEWED);
	expect(statSync(lockPath).size).toBe(0);
	expect(takeLock(sqlite, lockPath)).toBe("held");
});

test("a lock that is not there cannot be mended, and one that is held is not removed", async () => {
	const { directory, name, lockPath } = await open();
	const aside = directory.lockAside(name);
	const other = `${lockPath}.other`;
	expect(mendLock(sqlite, other, aside)).toBe("missing");
	// An empty one is refused for another reason than its content.
	writeFileSync(other, "");
	expect(mendLock(sqlite, other, aside)).toBe("refused");
	removeFreeLock({ sqlite, directory }, name);
	expect(existsSync(lockPath)).toBe(true);
	// Nobody has these: one that was filled, and one as it was made.
	const stray = runNameOf(name.runId, deadOwner());
	const strayPath = runPath(directory.runs, stray, "lock");
	writeFileSync(strayPath, "no lock");
	removeFreeLock({ sqlite, directory }, stray);
	expect(existsSync(strayPath)).toBe(false);
	writeFileSync(strayPath, "");
	removeFreeLock({ sqlite, directory }, stray);
	expect(existsSync(strayPath)).toBe(false);
});
