import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../../../..");

describe.each(["test", "check", "format", "generate"])("pnpm %s", (name) => {
	const given = (...args: string[]) =>
		spawnSync(process.execPath, [`scripts/${name}.ts`, ...args], {
			cwd: ROOT,
			encoding: "utf8",
			timeout: 60_000,
		});

	test("says what it does when it is asked for help, and does nothing", () => {
		const { status, stdout, stderr } = given("--help");
		expect(stderr).toBe("");
		expect(stdout).toContain(`npx pnpm@12 ${name} takes no arguments. It `);
		expect(stdout.split("\n")).toHaveLength(2);
		expect(status).toBe(0);
	});

	test("refuses an argument instead of doing all of its work", () => {
		const { status, stdout, stderr } = given("some/file.test.ts");
		expect(stdout).toBe("");
		expect(stderr).toContain(`npx pnpm@12 ${name} takes no arguments. It `);
		expect(status).toBe(2);
	});
});
