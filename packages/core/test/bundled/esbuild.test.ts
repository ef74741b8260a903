import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runBundled } from "../../../../scripts/run-bundled.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

const HERE = import.meta.dirname;
const SQLITE = {
	"better-sqlite3": join(HERE, "../../node_modules/better-sqlite3"),
};
const program = join(HERE, "program.ts");

describe.each(["esm", "cjs"] as const)("bundled by esbuild as %s", (format) => {
	const bundled = (external: string[], installed: Record<string, string>) =>
		runBundled({
			program,
			format,
			external,
			installed,
			directory: temporaryDirectory(),
		});

	test("a program works with nothing left outside but better-sqlite3", async () => {
		expect(await bundled(["better-sqlite3"], SQLITE)).toEqual({
			status: 0,
			stdout: "{ answer: 42 }\n",
			stderr: "",
		});
	});

	test("with better-sqlite3 in the bundle, the error says that it has to stay outside, and how", async () => {
		const { status, stdout } = await bundled([], {});
		expect(stdout).toMatch(/^REGISTRY_UNSUPPORTED: .*better-sqlite3/);
		expect(stdout).toContain('external: ["better-sqlite3"]');
		expect(stdout).toContain('serverExternalPackages: ["better-sqlite3"]');
		expect(stdout).not.toContain("install again");
		expect(status).toBe(1);
	});

	test("with better-sqlite3 outside and not installed, the error says where it was looked for", async () => {
		const { status, stdout } = await bundled(["better-sqlite3"], {});
		expect(stdout).toMatch(
			/^REGISTRY_UNSUPPORTED: .*better-sqlite3.*not installed/,
		);
		expect(stdout).toContain("npm install better-sqlite3");
		expect(status).toBe(1);
	});
});
