import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { Ledger } from "../../src/registry/schema.ts";
import {
	isAtLeast,
	loadSqlite,
	type SqliteModules,
} from "../../src/registry/sqlite.ts";

function modules(fields: Partial<SqliteModules>): SqliteModules {
	return {
		nodeVersion: "24.0.0",
		load: async () => ({
			Database,
			drizzle: () => ({}) as Ledger,
			migrate: () => {},
		}),
		...fields,
	};
}

/** A native module that answers the question for its version. */
function bringing(version: string): SqliteModules {
	const Fake = class {
		prepare = (): object => ({ pluck: () => ({ get: () => version }) });
		close(): void {}
	};
	return modules({
		load: async () => ({
			Database: Fake as unknown as typeof Database,
			drizzle: () => ({}) as Ledger,
			migrate: () => {},
		}),
	});
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

test("a native module that does not load here is a clear error", async () => {
	const missing = modules({
		load: () => Promise.reject(new Error("not found")),
	});
	const foreign = modules({
		load: async () => ({
			Database: class {
				constructor() {
					throw new Error("invalid ELF header");
				}
			} as unknown as typeof Database,
			drizzle: () => ({}) as Ledger,
			migrate: () => {},
		}),
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
	() => {
		// Erased types are what a build leaves; old versions do not read TypeScript.
		const source = join(import.meta.dirname, "../../src/registry/sqlite.ts");
		const script = execFileSync(process.execPath, [
			"--no-warnings",
			"-e",
			`process.stdout.write(require("node:module").stripTypeScriptTypes(require("node:fs").readFileSync(${JSON.stringify(source)}, "utf8")).replaceAll("../errors.ts", "data:text/javascript,export class StartError extends Error { constructor(f) { super(f.code) } }; export { StartError as RegistryError }"))`,
		]);
		const { stderr, status } = spawnSync(
			old ?? "",
			["--input-type=module", "-"],
			{
				encoding: "utf8",
				env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
				input: `${script}\nawait loadSqlite();`,
			},
		);
		expect(stderr).toContain("NODE_TOO_OLD");
		expect(status).toBe(1);
	},
);
