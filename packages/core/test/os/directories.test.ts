import { spawnSync } from "node:child_process";
import {
	chmodSync,
	chownSync,
	existsSync,
	lstatSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	type Stats,
	statSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import type { RunId } from "../../src/contract/identity.ts";
import {
	knownDirectories,
	rememberDirectory,
} from "../../src/os/known-directories.ts";
import {
	createRunDirectory,
	findRunDirectories,
	isRunDirectory,
	makeDirectories,
	ownershipProblem,
	SOCKET_PATH_LIMIT,
} from "../../src/os/private-directory.ts";
import {
	findStateDirectory,
	openStateDirectory,
} from "../../src/os/state-directory.ts";
import { thisMachine } from "../../src/os/this-machine.ts";
import { openRun } from "../../src/run/open-run.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

const RUN = "abcdefg" as RunId;
const OWNER = "0123456789abcdef";
const isRoot = process.getuid?.() === 0;
afterEach(() => {
	vi.unstubAllEnvs();
});

function codeOf(action: () => unknown): unknown {
	try {
		return action();
	} catch (error) {
		return (error as { code: string }).code;
	}
}

test("a run's directory is fresh and private, under XDG_RUNTIME_DIR", () => {
	const base = temporaryDirectory();
	const [a, b] = [1, 2].map(() =>
		createRunDirectory(RUN, OWNER, { XDG_RUNTIME_DIR: base }),
	) as [string, string];
	expect(a).not.toBe(b);
	expect(a.startsWith(join(base, `snakepit-${RUN}-0123`))).toBe(true);
	expect(statSync(a).mode & 0o777).toBe(0o700);
	expect(isRunDirectory(a, RUN)).toBe(true);
	expect(isRunDirectory(a, "1234567" as RunId)).toBe(false);
	expect(isRunDirectory(join(base, `snakepit-${RUN}-gone`), RUN)).toBe(false);
	chmodSync(a, 0o755);
	expect(isRunDirectory(a, RUN)).toBe(false);
});

test.each([
	["unset", {}],
	["missing", { XDG_RUNTIME_DIR: "/nowhere/at/all" }],
	["relative", { XDG_RUNTIME_DIR: "here" }],
])(
	"where XDG_RUNTIME_DIR is %s it is under the temporary directory",
	(_, env) => {
		const temporary = temporaryDirectory();
		vi.stubEnv("TMPDIR", temporary);
		expect(createRunDirectory(RUN, OWNER, env).startsWith(temporary)).toBe(
			true,
		);
	},
);

test("a runtime directory that another user could exchange is refused, with the remedy", () => {
	const base = temporaryDirectory();
	const real = join(base, "real");
	mkdirSync(real, { mode: 0o700 });
	symlinkSync(real, join(base, "link"));
	writeFileSync(join(base, "file"), "");
	mkdirSync(join(base, "open"));
	chmodSync(join(base, "open"), 0o777);
	for (const name of ["link", "file", "open"])
		expect(() =>
			createRunDirectory(RUN, OWNER, { XDG_RUNTIME_DIR: join(base, name) }),
		).toThrow(
			expect.objectContaining({
				code: "RUNTIME_DIRECTORY_UNSAFE",
				message: expect.stringMatching(/XDG_RUNTIME_DIR/),
			}),
		);
});

test.skipIf(!isRoot)(
	"a runtime directory of another user is refused (needs root to make one)",
	() => {
		const base = temporaryDirectory();
		chownSync(base, 65_534, 65_534);
		expect(() =>
			createRunDirectory(RUN, OWNER, { XDG_RUNTIME_DIR: base }),
		).toThrow(/belongs to user 65534 .* runs as user 0/);
	},
);

test("a path that is too long for sockets is replaced by a short one, or refused", () => {
	const long = join(temporaryDirectory(), "x".repeat(60));
	mkdirSync(long);
	const path = createRunDirectory(RUN, OWNER, { XDG_RUNTIME_DIR: long });
	expect(path.startsWith(long)).toBe(false);
	expect(path.length + 40).toBeLessThan(SOCKET_PATH_LIMIT);
	rmSync(path, { recursive: true });
	vi.stubEnv("TMPDIR", long);
	const fallback = createRunDirectory(RUN, OWNER, { XDG_RUNTIME_DIR: long });
	expect(fallback.startsWith("/tmp/")).toBe(true);
	rmSync(fallback, { recursive: true });
});

test("the sticky bit keeps others from exchanging what is in an open directory", () => {
	const stats = (mode: number): Stats => {
		const path = join(temporaryDirectory(), "d");
		mkdirSync(path);
		chmodSync(path, mode);
		return lstatSync(path);
	};
	expect(
		ownershipProblem(stats(0o1777), "not_writable_by_others"),
	).toBeUndefined();
	expect(ownershipProblem(stats(0o777), "not_writable_by_others")).toContain(
		"written by others",
	);
	expect(ownershipProblem(stats(0o750), "private")).toContain(
		"entered by others",
	);
	expect(ownershipProblem(stats(0o700), "private")).toBeUndefined();
	expect(ownershipProblem(stats(0o700), "private", 4711)).toContain(
		"belongs to user",
	);
});

test("the ledger is in the state directory of the user, by machine", () => {
	const home = temporaryDirectory();
	expect(openStateDirectory(undefined, "machine", { HOME: home })).toEqual({
		path: join(home, ".local/state/snakepit/machine"),
		relocated: undefined,
	});
	const state = temporaryDirectory();
	const { path } = openStateDirectory(undefined, "machine", {
		HOME: home,
		XDG_STATE_HOME: state,
	});
	expect(path).toBe(join(state, "snakepit/machine"));
	expect(statSync(path).mode & 0o777).toBe(0o700);
	const fresh = join(state, "not/there/yet");
	expect(
		openStateDirectory(undefined, "machine", { XDG_STATE_HOME: fresh }),
	).toEqual({ path: join(fresh, "snakepit/machine"), relocated: undefined });
	expect(statSync(fresh).mode & 0o777).toBe(0o700);
	expect(
		openStateDirectory(undefined, "machine", {
			HOME: home,
			XDG_STATE_HOME: "relative",
		}).path,
	).toContain(home);
});

test("without a home that can be used it is in a private directory under the temporary one, and the reason is returned", () => {
	const temporary = temporaryDirectory();
	vi.stubEnv("TMPDIR", temporary);
	const file = join(temporary, "file");
	writeFileSync(file, "");
	const place = (env: NodeJS.ProcessEnv): string | undefined => {
		const { path, relocated } = openStateDirectory(undefined, "machine", env);
		expect(path).toBe(
			join(temporary, `snakepit-${process.getuid?.()}`, "machine"),
		);
		expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
		return relocated;
	};
	expect(place({})).toBe("HOME is not set");
	expect(place({ HOME: "/nowhere/at/all" })).toContain("cannot be found");
	expect(place({ HOME: file })).toContain("cannot be written");
	if (!isRoot) return;
	const foreign = temporaryDirectory();
	chownSync(foreign, 65_534, 65_534);
	expect(place({ HOME: foreign })).toContain("belongs to user 65534");
	expect(existsSync(join(foreign, ".local"))).toBe(false);
});

test("where nothing can be used that is a clear error", () => {
	const temporary = temporaryDirectory();
	vi.stubEnv("TMPDIR", temporary);
	writeFileSync(
		join(temporary, `snakepit-${process.getuid?.()}`),
		"in the way",
	);
	expect(codeOf(() => openStateDirectory(undefined, "machine", {}))).toBe(
		"REGISTRY_UNWRITABLE",
	);
	expect(
		codeOf(() =>
			openStateDirectory(
				join(temporary, `snakepit-${process.getuid?.()}`, "x"),
				"machine",
			),
		),
	).toBe("REGISTRY_UNWRITABLE");
});

test("a reader finds the ledger where a writer made it, and makes nothing", () => {
	const home = temporaryDirectory();
	vi.stubEnv("TMPDIR", home);
	const env = { HOME: home };
	const find = (
		dataDir?: string,
		of: NodeJS.ProcessEnv = env,
	): string | undefined => findStateDirectory(dataDir, "machine", of);
	expect(find()).toBeUndefined();
	expect(readdirSync(home)).toEqual([]);
	const relocated = openStateDirectory(undefined, "machine", {}).path;
	// With this home the next start makes it there, whatever there is elsewhere.
	expect([find(), find(undefined, {})]).toEqual([undefined, relocated]);
	const usual = openStateDirectory(undefined, "machine", env).path;
	expect([find(), find(undefined, {})]).toEqual([usual, relocated]);
	expect([find(home), find(join(home, "nothing"))]).toEqual([home, undefined]);
	const unusable = temporaryDirectory();
	writeFileSync(join(unusable, ".local"), "not a directory");
	expect(find(undefined, { HOME: unusable })).toBe(relocated);
	expect(
		openStateDirectory(undefined, "machine", { HOME: unusable }).path,
	).toBe(relocated);
});

test("the directory of a run whose record is lost is found by its name, and no other", () => {
	const base = temporaryDirectory();
	const env = { XDG_RUNTIME_DIR: base };
	const path = createRunDirectory(RUN, OWNER, env);
	createRunDirectory(RUN, "another", env);
	createRunDirectory("1234567" as RunId, OWNER, env);
	mkdirSync(`${path}-longer`, { mode: 0o700 });
	writeFileSync(join(base, `snakepit-${RUN}-0123aaaaaa`), "a file");
	expect(findRunDirectories(RUN, OWNER, env)).toEqual([path]);
	chmodSync(base, 0o777);
	expect(findRunDirectories(RUN, OWNER, env)).toEqual([]);
});

test("a directory is made with all above it that are not there, as private as asked", () => {
	const base = temporaryDirectory();
	const path = join(base, "a", "b", "c");
	makeDirectories(path, 0o700);
	for (const made of [join(base, "a"), join(base, "a", "b"), path])
		expect(statSync(made).mode & 0o777).toBe(0o700);
});

test("a directory that is there is left as it is", () => {
	const path = join(temporaryDirectory(), "open");
	mkdirSync(path, { mode: 0o755 });
	makeDirectories(path, 0o700);
	expect(statSync(path).mode & 0o777).toBe(0o755);
});

test.each(["file", "dangling"])(
	"below a %s it is the system's error",
	(name) => {
		const base = temporaryDirectory();
		writeFileSync(join(base, "file"), "");
		symlinkSync(join(base, "gone"), join(base, "dangling"));
		expect(codeOf(() => makeDirectories(join(base, name, "x"), 0o700))).toMatch(
			/^(EEXIST|ENOTDIR)$/,
		);
		expect(existsSync(join(base, "gone"))).toBe(false);
	},
);

// In a program of its own: what is wrong here blocks the whole program.
test.runIf(process.platform === "linux")(
	"where the file system denies what is there, it is an error instead of an endless loop",
	() => {
		const module = new URL("../../src/os/state-directory.ts", import.meta.url)
			.href;
		const program = `
			import { openStateDirectory } from ${JSON.stringify(module)};
			try { openStateDirectory("/proc/snakepit/ledger", "machine"); }
			catch (error) { console.log(error.code); }
		`;
		const { stdout, signal } = spawnSync(
			process.execPath,
			["--conditions=snakepit-source", "--input-type=module", "-e", program],
			{ timeout: 30_000, encoding: "utf8", killSignal: "SIGKILL" },
		);
		expect({ said: stdout.trim(), signal }).toEqual({
			said: "REGISTRY_UNWRITABLE",
			signal: null,
		});
	},
);

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
