import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import {
	compileNativeTest,
	SANITIZERS,
} from "../../../../scripts/native-test-program.ts";

const TESTS = join(import.meta.dirname, "../../../../native/test");
const PROGRAMS = globSync("*/*-test.c", { cwd: TESTS }).map((file) =>
	file.replace(/\.c$/, ""),
);
const compiler = process.env["CC"] ?? "cc";
const isCompiled =
	process.platform === "linux" &&
	spawnSync(compiler, ["--version"]).status === 0;

const directory = mkdtempSync(join(tmpdir(), "snakepit-native-"));
afterAll(() => rmSync(directory, { recursive: true }));

test("every part of the native binary that has a test is found", () => {
	expect(PROGRAMS.length).toBeGreaterThanOrEqual(8);
});

// A check that fails is on standard error, which is shown with the status.
test.runIf(isCompiled).each(PROGRAMS)(
	"the native binary keeps what %s says, also under the sanitizers",
	(program) => {
		const path = compileNativeTest(program, directory, SANITIZERS);
		const { status, signal, stderr } = spawnSync(path, [`${path}-written`], {
			encoding: "utf8",
			timeout: 60_000,
		});
		expect({ status, signal, stderr }).toEqual({
			status: 0,
			signal: null,
			stderr: "",
		});
	},
	120_000,
);
