import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import { runBundled } from "../../../../scripts/run-bundled.ts";

const HERE = import.meta.dirname;
const NATIVE = `@snakepit/native-linux-${process.arch}`;

describe.each(["esm", "cjs"] as const)("bundled by esbuild as %s", (format) => {
	test("a program without the files of its protections works, and reports which are missing and what to do", async () => {
		const directory = mkdtempSync(join(tmpdir(), "bundled-"));
		onTestFinished(() => removeDirectory(directory));
		const { status, stdout, stderr } = await runBundled({
			program: join(HERE, "program.ts"),
			format,
			external: ["better-sqlite3"],
			installed: {
				"better-sqlite3": join(
					HERE,
					"../../../core/node_modules/better-sqlite3",
				),
			},
			directory,
		});
		expect({ status, stderr }).toEqual({ status: 0, stderr: "" });

		const isLinux = process.platform === "linux";
		const expected = [
			["guard", isLinux ? NATIVE : "Linux"],
			["watchdog", "dist/watchdog/program.js"],
		] as const;
		const remedy = (name: string) =>
			name === "guard" && !isLinux
				? "Use the watchdog"
				: `npm install ${name === "guard" ? NATIVE : "@snakepit/watchdog"}@`;
		const said = JSON.parse(stdout);
		expect(said.answer).toBe("answered");
		expect(said.reported).toMatchObject(
			// Where there is no guard for the system, a run does without and says nothing.
			expected.slice(isLinux ? 0 : 1).map(([protection, file]) => ({
				protection,
				reason: expect.stringContaining(file),
			})),
		);
		for (const { protection, reason } of said.reported)
			expect(reason).toContain(remedy(protection));
		expect(said.missing).toMatchObject(
			expected.map(([layer, file]) => ({
				layer,
				status: "unavailable",
				detail: expect.stringContaining(file),
				remedy: expect.stringContaining(remedy(layer)),
			})),
		);
	});
});
