import { describe, expect, test } from "vitest";
import { runBundled } from "./bundle.ts";

describe.each(["esm", "cjs"] as const)("bundled by esbuild as %s", (format) => {
	test("a program works with nothing left outside but better-sqlite3", async () => {
		const external = ["better-sqlite3"];
		expect(await runBundled({ format, external, installed: external })).toEqual(
			{
				status: 0,
				stdout: "{ answer: 42 }\n",
				stderr: "",
				warnings: [],
			},
		);
	});

	test("with better-sqlite3 in the bundle, the error says that it has to stay outside, and how", async () => {
		const { status, stdout } = await runBundled({
			format,
			external: [],
			installed: [],
		});
		expect(stdout).toMatch(/^REGISTRY_UNSUPPORTED: .*better-sqlite3/);
		expect(stdout).toContain('external: ["better-sqlite3"]');
		expect(stdout).toContain('serverExternalPackages: ["better-sqlite3"]');
		expect(stdout).not.toContain("install again");
		expect(status).toBe(1);
	});

	test("with better-sqlite3 outside and not installed, the error says where it was looked for", async () => {
		const { status, stdout } = await runBundled({
			format,
			external: ["better-sqlite3"],
			installed: [],
		});
		expect(stdout).toMatch(
			/^REGISTRY_UNSUPPORTED: .*better-sqlite3.*not installed/,
		);
		expect(stdout).toContain("npm install better-sqlite3");
		expect(status).toBe(1);
	});
});
