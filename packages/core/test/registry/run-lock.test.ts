import { spawn } from "node:child_process";
import { once } from "node:events";
import {
	existsSync,
	linkSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import {
	createLock,
	mendLock,
	RunLock,
	restoreLock,
	takeLock,
} from "../../src/registry/run-lock.ts";
import type { Sqlite, SqliteConnection } from "../../src/registry/sqlite.ts";
import { sqlite } from "../cleanup/bench.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

function newPath(): string {
	return join(temporaryDirectory(), "a.lock");
}

function taken(attempt: unknown): RunLock {
	if (!(attempt instanceof RunLock)) throw new Error(`It is ${attempt}.`);
	return attempt;
}

test("kill -9 of the owner frees its lock at once, and nothing before does", async () => {
	const path = newPath();
	const owner = spawn(
		process.execPath,
		[
			"--input-type=module",
			"-e",
			`import { createLock } from ${JSON.stringify(join(import.meta.dirname, "../../src/registry/run-lock.ts"))};
			import { loadSqlite } from ${JSON.stringify(join(import.meta.dirname, "../../src/registry/sqlite.ts"))};
			globalThis.lock = createLock(await loadSqlite(), ${JSON.stringify(path)});
			console.log("held");
			setInterval(() => {}, 1e6);`,
		],
		{ stdio: ["ignore", "pipe", "inherit"] },
	);
	onTestFinished(() => void owner.kill("SIGKILL"));
	await once(owner.stdout, "data");
	expect(takeLock(sqlite, path)).toBe("held");
	expect(takeLock(sqlite, path)).toBe("held"); // A refused attempt takes nothing from its owner.
	owner.kill("SIGSTOP");
	expect(takeLock(sqlite, path)).toBe("held");
	owner.kill("SIGKILL");
	await once(owner, "exit");
	taken(takeLock(sqlite, path)).release("kept");
});

test("it leaves no other file, and its own only when it is kept", () => {
	const path = newPath();
	const first = taken(createLock(sqlite, path));
	expect(readdirSync(join(path, ".."))).toEqual(["a.lock"]);
	first.release("kept");
	const second = taken(takeLock(sqlite, path));
	second.release("removed");
	expect(existsSync(path)).toBe(false);
	expect(takeLock(sqlite, path)).toBe("missing");
});

test("removing it a second time is not a failure", () => {
	const path = newPath();
	const lock = taken(createLock(sqlite, path));
	rmSync(path);
	lock.release("removed");
});

test("a name that exists is taken, whatever has it", () => {
	const path = newPath();
	writeFileSync(path, "");
	expect(createLock(sqlite, path)).toBe("held");
	expect(() => createLock(sqlite, join(path, "below"))).toThrow("ENOTDIR");
});

/** SQLite, with something that happens in the moment before or after a file is opened. */
function meddling(before: () => void, after: () => void = () => {}): Sqlite {
	return {
		...sqlite,
		open(path, options) {
			before();
			const connection = sqlite.open(path, options);
			after();
			return connection;
		},
	};
}

test("a lock that cannot be taken where it was made is removed again", () => {
	const path = newPath();
	const broken = meddling(() => {
		throw Object.assign(new Error("no locks here"), {
			code: "SQLITE_IOERR_LOCK",
		});
	});
	expect(createLock(broken, path)).toBe("refused");
	expect(existsSync(path)).toBe(false);
});

test("a lock that its holder removes while it is opened is missing, not taken: no other process would see it held", () => {
	const path = newPath();
	writeFileSync(path, "");
	expect(
		takeLock(
			meddling(
				() => {},
				() => rmSync(path),
			),
			path,
		),
	).toBe("missing");
	writeFileSync(path, "");
	const exchanged = meddling(
		() => {},
		() => {
			writeFileSync(`${path}.new`, "");
			rmSync(path);
			writeFileSync(path, "");
		},
	);
	expect(takeLock(exchanged, path)).toBe("missing");
});

test("a lock that was not taken leaves no connection open", () => {
	const path = newPath();
	writeFileSync(path, "");
	const opened: SqliteConnection[] = [];
	const noted: Sqlite = {
		...sqlite,
		open(...asked) {
			const connection = sqlite.open(...asked);
			opened.push(connection);
			rmSync(path);
			return connection;
		},
	};
	expect(takeLock(noted, path)).toBe("missing");
	expect(opened.map(({ client }) => client.open)).toEqual([false]);
});

test("a lock is held where SQLite says so in any way", () => {
	const path = newPath();
	writeFileSync(path, "");
	const recovering = meddling(() => {
		throw Object.assign(new Error("busy"), { code: "SQLITE_BUSY_RECOVERY" });
	});
	expect(takeLock(recovering, path)).toBe("held");
});

test("what is no file is refused", () => {
	const path = newPath();
	mkdirSync(path);
	expect(takeLock(sqlite, path)).toBe("refused");
});

test("a lock that was lost can be made again, where that is possible", () => {
	const path = newPath();
	taken(restoreLock(sqlite, path)).release("removed");
	symlinkSync("/nowhere/at/all", path);
	expect(restoreLock(sqlite, path)).toBe("refused");
});

test("a lock that was filled is emptied and taken; without content or name there is nothing to mend", () => {
	const path = newPath();
	const aside = `${path}.aside`;
	expect(mendLock(sqlite, path, aside)).toBe("missing");
	writeFileSync(path, "");
	expect(mendLock(sqlite, path, aside)).toBe("refused");
	writeFileSync(path, "of somebody");
	const lock = taken(mendLock(sqlite, path, aside));
	expect(existsSync(aside)).toBe(false);
	expect(takeLock(sqlite, path)).toBe("held");
	lock.release("removed");
	expect(existsSync(path)).toBe(false);
});

test.each(["a second name", "a directory"])(
	"what has the name of a lock and is of use to somebody is moved aside: %s",
	(what) => {
		const path = newPath();
		const aside = `${path}.aside`;
		const other = `${path}.other`;
		if (what === "a directory") mkdirSync(path);
		else {
			writeFileSync(other, "kept");
			linkSync(other, path);
		}
		taken(mendLock(sqlite, path, aside)).release("removed");
		expect(existsSync(aside)).toBe(true);
		if (what === "a second name")
			expect(readFileSync(other, "utf8")).toBe("kept");
		// What is aside already is not lost.
		if (what !== "a directory") return;
		mkdirSync(path);
		writeFileSync(join(aside, "file"), "");
		expect(mendLock(sqlite, path, aside)).toBe("refused");
	},
);

test("a lock with a second name that cannot be moved aside is refused, and not taken under both", () => {
	const path = newPath();
	writeFileSync(path, "");
	linkSync(path, `${path}.second`);
	expect(mendLock(sqlite, path, join(path, "..", "nowhere", "aside"))).toBe(
		"refused",
	);
});

/** Takes the lock in a thread of its own; the two meet before and after the step that decides. */
const STARTER = `
const { parentPort, workerData } = require("node:worker_threads");
const { modules, path, arrived } = workerData;
const meet = (place) => {
	Atomics.add(arrived, place, 1);
	Atomics.notify(arrived, place);
	if (Atomics.load(arrived, place) < 2) Atomics.wait(arrived, place, 1, 10_000);
};
(async () => {
	const { takeLock } = await import(modules + "/run-lock.ts");
	const { loadSqlite } = await import(modules + "/sqlite.ts");
	const sqlite = await loadSqlite();
	const lock = takeLock({
		...sqlite,
		open(path, options) {
			const connection = sqlite.open(path, options);
			const exec = connection.client.exec.bind(connection.client);
			connection.client.exec = (sql) => {
				meet(0);
				try {
					return exec(sql);
				} finally {
					meet(1);
				}
			};
			return connection;
		},
	}, path);
	parentPort.once("message", () => {
		if (typeof lock === "object") lock.release("kept");
	});
	parentPort.postMessage(typeof lock === "object" ? "taken" : lock);
})();
`;

test("of two that take a lock at the same moment one gets it", async () => {
	const path = join(temporaryDirectory(), "a.lock");
	writeFileSync(path, "");
	const modules = join(import.meta.dirname, "../../src/registry");
	const arrived = new Int32Array(new SharedArrayBuffer(8));
	const workerData = { modules, path, arrived };
	const starters = [1, 2].map(
		() => new Worker(STARTER, { eval: true, workerData }),
	);
	onTestFinished(async () => {
		const exits = starters.map((starter) => once(starter, "exit"));
		for (const starter of starters) starter.postMessage("over");
		await Promise.all(exits);
	});
	const answers = await Promise.all(
		starters.map(async (starter) => (await once(starter, "message"))[0]),
	);
	expect(answers.toSorted()).toEqual(["held", "taken"]);
});
