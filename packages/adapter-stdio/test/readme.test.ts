import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import {
	blocksOf,
	runProgram,
	writeFiles,
} from "../../../scripts/page-programs.ts";

const hasSqlite = spawnSync("sqlite3", ["-version"]).status === 0;

test.each<readonly [string, string]>([
	["main.ts", "7\n"],
	["lines.ts", "HELLO\n"],
	...(hasSqlite ? [["sqlite.ts", '[{"answer":42}]\n'] as const] : []),
])("the README's program %s runs", (program, stdout) => {
	const blocks = blocksOf(new URL("../README.md", import.meta.url));
	expect(
		runProgram(writeFiles(import.meta.dirname, blocks), program),
	).toMatchObject({ stdout, stderr: "" });
});

test("the program of the README of core runs", () => {
	const blocks = blocksOf(new URL("../../core/README.md", import.meta.url));
	expect(
		runProgram(writeFiles(import.meta.dirname, blocks), "upper.ts"),
	).toMatchObject({ stdout: "HELLO\n", stderr: "" });
});
