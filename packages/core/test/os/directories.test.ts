import {
	chmodSync,
	chownSync,
	existsSync,
	lstatSync,
	mkdirSync,
	readdirSync,
	rmSync,
	type Stats,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import type { RunId } from "../../src/contract/identity.ts";
import {
	createRunDirectory,
	findRunDirectories,
	isRunDirectory,
	ownershipProblem,
	SOCKET_PATH_LIMIT,
} from "../../src/os/private-directory.ts";
import {
	findStateDirectory,
	openStateDirectory,
} from "../../src/os/state-directory.ts";
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
