import { spawnSync } from "node:child_process";
import { join } from "node:path";
import Database from "better-sqlite3";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { thisExecution } from "../../src/os/this-program.ts";
import {
	isAtLeast,
	loadBeside,
	loadInstalled,
	loadSqlite,
	type SqliteModules,
	sqliteUnusable,
} from "../../src/registry/sqlite.ts";

function modules(fields: Partial<SqliteModules>): SqliteModules {
	return {
		nodeVersion: "24.0.0",
		load: async () => Database,
		...fields,
	};
}

/** A native module that answers the question for its version. */
function bringing(version: string): SqliteModules {
	const Fake = class {
		prepare = (): object => ({ pluck: () => ({ get: () => version }) });
		close(): void {}
	};
	return modules({ load: async () => Fake as unknown as typeof Database });
}

test.each(["20.19.4", "21.9.9"])(
	"Node %s is refused before the native module is loaded: it would crash",
	async (nodeVersion) => {
		let loaded = false;
		const old = modules({
			nodeVersion,
			load: async () => {
				loaded = true;
				throw new Error("crash");
			},
		});
		await expect(loadSqlite(old)).rejects.toMatchObject({
			name: "StartError",
			code: "NODE_TOO_OLD",
			message: expect.stringContaining(nodeVersion),
		});
		expect(loaded).toBe(false);
	},
);

test("a SQLite that may corrupt a ledger is refused, a current one is not", async () => {
	for (const version of ["3.51.2", "3.7.0", "2.99.99"])
		await expect(loadSqlite(bringing(version))).rejects.toMatchObject({
			code: "REGISTRY_UNSUPPORTED",
			message: expect.stringContaining(version),
		});
	await loadSqlite(bringing("3.51.3"));
	await loadSqlite(bringing("4.0.0"));
	await loadSqlite();
});

test("beside an executable that contains the program, the native module is loaded from there and from nowhere else", () => {
	const core = join(import.meta.dirname, "../..");
	expect(loadBeside(join(core, "app"))).toBe(Database);
	// What runs these tests may have set NODE_PATH, where Node looks everywhere.
	const { NODE_PATH: _, ...env } = process.env;
	const module = join(core, "src/registry/sqlite.ts");
	const program = `import { loadBeside } from ${JSON.stringify(module)}; loadBeside("/nowhere/app");`;
	const { stderr, status } = spawnSync(
		process.execPath,
		["--conditions=snakepit-source", "--input-type=module", "-e", program],
		{ encoding: "utf8", env },
	);
	expect(stderr).toContain("Cannot find module 'better-sqlite3/package.json'");
	expect(status).toBe(1);
});

test("a program imports the native module; an executable that contains it takes the one beside itself where an import finds none", async () => {
	const app = join(import.meta.dirname, "../../app");
	const program = { ...thisExecution(), execPath: app };
	const bundled = { name: "bundled" } as unknown as typeof Database;
	const [found, missing] = [
		async () => bundled,
		() => Promise.reject(new Error("no such package")),
	];
	expect(await loadInstalled(program, found)).toBe(bundled);
	await expect(loadInstalled(program, missing)).rejects.toThrow("no such");
	const compiled = { ...program, isCompiled: true };
	expect(await loadInstalled(compiled, found)).toBe(bundled);
	expect(await loadInstalled(compiled, missing)).toBe(Database);
	// There, an import may find what is in the working directory.
	expect(await loadInstalled({ ...program, isSea: true }, found)).toBe(
		Database,
	);
});

test("a native module that does not load here is a clear error", async () => {
	const missing = modules({
		load: () => Promise.reject(new Error("not found")),
	});
	const foreign = modules({
		load: async () =>
			class {
				constructor() {
					throw new Error("invalid ELF header");
				}
			} as unknown as typeof Database,
	});
	for (const each of [missing, foreign])
		await expect(loadSqlite(each)).rejects.toMatchObject({
			name: "RegistryError",
			code: "REGISTRY_UNSUPPORTED",
			message: expect.stringContaining("better-sqlite3"),
		});
});

test("versions are compared number by number", () => {
	expect(isAtLeast("3.51.3", "3.51.3")).toBe(true);
	expect(isAtLeast("3.100.0", "3.51.3")).toBe(true);
	expect(isAtLeast("3.51.10", "3.51.3")).toBe(true);
	expect(isAtLeast("3.51", "3.51.3")).toBe(false);
});

const old = ["node", "nodejs"].find((name) => {
	const { stdout } = spawnSync(name, ["--version"], {
		encoding: "utf8",
		env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
	});
	return /^v(18|20)\./.test(stdout ?? "");
});

test.skipIf(old === undefined)(
	"on a real old Node (skipped where there is none) starting is a clear error and no crash",
	async () => {
		// Old versions do not read TypeScript.
		const { outputFiles } = await build({
			stdin: {
				contents: `import { loadSqlite } from "./sqlite.ts"; await loadSqlite();`,
				resolveDir: join(import.meta.dirname, "../../src/registry"),
			},
			bundle: true,
			platform: "node",
			format: "esm",
			conditions: ["snakepit-source", "module"],
			external: ["better-sqlite3"],
			write: false,
		});
		const { stderr, status } = spawnSync(
			old ?? "",
			["--input-type=module", "-"],
			{
				encoding: "utf8",
				env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
				input: outputFiles[0]?.text ?? "",
			},
		);
		expect(stderr).toContain("NODE_TOO_OLD");
		expect(status).toBe(1);
	},
);

const INSTALL = "npm install better-sqlite3";
const OUTSIDE = 'external: ["better-sqlite3"]';
const AGAIN = "install it again on this system";

/** What was seen, and of the three remedies the one that helps. */
test.each([
	["Cannot find package 'better-sqlite3' imported from /app/main.mjs", INSTALL],
	[
		"Cannot find module 'better-sqlite3'\nRequire stack:\n- /app/main.cjs",
		INSTALL,
	],
	['Dynamic require of "fs" is not supported', OUTSIDE],
	[
		'Calling `require` for "fs" in an environment that doesn\'t expose the `require` function. See dynamic require',
		OUTSIDE,
	],
	['Could not dynamically require "/app/build/x.node".', OUTSIDE],
	["__dirname is not defined in ES module scope", OUTSIDE],
	["require is not defined", OUTSIDE],
	[
		"Cannot find module '/app/build/Release/better_sqlite3.node'\nRequire stack:",
		OUTSIDE,
	],
	[
		"Cannot find module '/app/node_modules/better-sqlite3/build/Release/better_sqlite3.node'",
		AGAIN,
	],
	[
		"/lib/libc.so.6: version `GLIBC_2.34' not found (required by /app/node_modules/better-sqlite3/prebuilds/linux-x64.node)",
		AGAIN,
	],
	["invalid ELF header", AGAIN],
])("%j has its own remedy", (message, remedy) => {
	const cause = new Error(message);
	const error = sqliteUnusable(cause, undefined);
	expect(error).toMatchObject({
		code: "REGISTRY_UNSUPPORTED",
		ran: "no",
		cause,
	});
	const remedies = [INSTALL, OUTSIDE, AGAIN];
	expect(remedies.filter((each) => error.message.includes(each))).toEqual([
		remedy,
	]);
	expect(error.message).toContain(message.split("\n")[0]);
	expect(error.message).not.toContain("\n");
});

test("beside an executable that contains the program, the place where the package belongs is named", () => {
	const cause = new Error("Cannot find module 'better-sqlite3/package.json'");
	expect(sqliteUnusable(cause, "/opt/app/app").message).toContain(
		"/opt/app/app contains the program, but not that module. Copy the package to /opt/app/node_modules/better-sqlite3.",
	);
});

test("what is thrown need not be an error", () => {
	expect(sqliteUnusable("no").message).toContain(`${process.arch}: no)`);
});
