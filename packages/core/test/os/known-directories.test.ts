import {
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import {
	knownDirectories,
	rememberDirectory,
} from "../../src/os/known-directories.ts";
import { thisMachine } from "../../src/os/this-machine.ts";
import { openRun } from "../../src/run/open-run.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

const folderIn = (state: string, machine = "machine") =>
	join(state, "snakepit", machine, "directories");

function directories(number: number): readonly string[] {
	const parent = temporaryDirectory();
	return Array.from({ length: number }, (_, index) => {
		const path = join(parent, `data ${index}`);
		mkdirSync(path);
		return path;
	});
}

test("a data directory is remembered in a private file, once, and forgotten when it is gone", async () => {
	const env = { XDG_STATE_HOME: temporaryDirectory() };
	const [first = "", second = ""] = directories(2);
	expect(knownDirectories("machine", env)).toEqual([]);
	for (const path of [first, second, first])
		await rememberDirectory(path, "machine", env);
	const folder = folderIn(env.XDG_STATE_HOME);
	const names = readdirSync(folder);
	expect(names).toHaveLength(2);
	expect(statSync(folder).mode & 0o777).toBe(0o700);
	for (const name of names)
		expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
	expect(knownDirectories("machine", env).toSorted()).toEqual([first, second]);
	expect(knownDirectories("another", env)).toEqual([]);
	rmSync(second, { recursive: true });
	expect(knownDirectories("machine", env)).toEqual([first]);
});

test("the last used comes first; of more than a hundred, those that are gone make room, then those not used for longest", async () => {
	const env = { XDG_STATE_HOME: temporaryDirectory() };
	const paths = directories(102);
	const folder = folderIn(env.XDG_STATE_HOME);
	for (const [index, path] of paths.slice(0, 100).entries()) {
		const before = new Set(existsSync(folder) ? readdirSync(folder) : []);
		await rememberDirectory(path, "machine", env);
		const [name = ""] = readdirSync(folder).filter((each) => !before.has(each));
		utimesSync(join(folder, name), index + 1, index + 1);
	}
	expect(knownDirectories("machine", env)[0]).toBe(paths[99]);
	rmSync(paths[50] ?? "", { recursive: true });
	await rememberDirectory(paths[100] ?? "", "machine", env);
	expect(readdirSync(folder)).toHaveLength(100);
	expect(knownDirectories("machine", env)).toContain(paths[0]);
	await rememberDirectory(paths[101] ?? "", "machine", env);
	expect(readdirSync(folder)).toHaveLength(100);
	expect(knownDirectories("machine", env)).not.toContain(paths[0]);
	expect(knownDirectories("machine", env).slice(0, 2).toSorted()).toEqual(
		paths.slice(100).toSorted(),
	);
});

test("what another user could have written there is not read, nor what is no entry", async () => {
	const env = { XDG_STATE_HOME: temporaryDirectory() };
	const [path = ""] = directories(1);
	await rememberDirectory(path, "machine", env);
	const folder = folderIn(env.XDG_STATE_HOME);
	const [name = ""] = readdirSync(folder);
	writeFileSync(join(folder, "0".repeat(24)), path);
	mkdirSync(join(folder, "1".repeat(24)));
	expect(knownDirectories("machine", env)).toEqual([path]);
	chmodSync(folder, 0o777);
	expect(knownDirectories("machine", env)).toEqual([]);
	chmodSync(folder, 0o700);
	writeFileSync(join(folder, name), path.slice(0, -1));
	expect(knownDirectories("machine", env)).toEqual([]);
});

test("a home that cannot be used hurts nobody", async () => {
	const [path = ""] = directories(1);
	const file = join(temporaryDirectory(), "file");
	writeFileSync(file, "");
	for (const env of [{}, { XDG_STATE_HOME: join(file, "state") }]) {
		await rememberDirectory(path, "machine", env);
		expect(knownDirectories("machine", env)).toEqual([]);
	}
});

test("a run remembers the directory that its program has chosen, unless its control is off", async () => {
	const state = temporaryDirectory();
	vi.stubEnv("XDG_STATE_HOME", state);
	const [seen = "", hidden = ""] = directories(2);
	{
		await using _hidden = await openRun({ dataDir: hidden, control: false });
		await using _seen = await openRun({ dataDir: seen });
		const folder = folderIn(state, thisMachine().self.machineId);
		const read = () =>
			readdirSync(folder).map((name) =>
				readFileSync(join(folder, name), "utf8"),
			);
		await expect.poll(() => (existsSync(folder) ? read() : [])).toEqual([seen]);
	}
	await using _usual = await openRun();
	expect(knownDirectories(thisMachine().self.machineId)).toEqual([seen]);
});
