import { existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
	mendLock,
	RunLock,
	removeFreeLock,
	takeLock,
} from "../../src/registry/run-lock.ts";
import { runNameOf, runPath } from "../../src/registry/run-name.ts";
import { sqlite } from "../cleanup/bench.ts";
import { deadOwner } from "../cleanup/crafted-run.ts";
import { openOwnFiles as open, RENEWED } from "./own-files-bench.ts";

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

test("a lock is free when it is released", async () => {
	const { files, lockPath } = await open();
	files.release("removed");
	expect(existsSync(lockPath)).toBe(false);
});

test("a lock that was removed is made and held anew", async () => {
	const { registry, lockPath, types } = await open();
	rmSync(lockPath);
	registry.flush();
	expect(types()).toEqual(RENEWED);
	expect(takeLock(sqlite, lockPath)).toBe("held");
});

test("a lock that was filled is emptied and held", async () => {
	const { registry, lockPath, types } = await open();
	rmSync(lockPath);
	writeFileSync(lockPath, "no lock");
	registry.flush();
	expect(types()).toEqual(RENEWED);
	expect(statSync(lockPath).size).toBe(0);
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
