import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";

const BLOCK = /^```(?:js|ts|py)\n(?:(?:\/\/|#) (\S+\.\w+)\n)?(.*?)^```$/gms;

/** A block of code on a page; its first line may name its file. */
export interface PageBlock {
	readonly name: string | undefined;
	readonly code: string;
}

/** Reads the blocks of TypeScript, JavaScript and Python of a page. */
export function blocksOf(page: URL): readonly PageBlock[] {
	return [...readFileSync(page, "utf8").matchAll(BLOCK)].map(
		([, name, code = ""]) => ({ name, code }),
	);
}

/**
 * Writes files into a directory that is removed after the test. It is in the test's own directory, so that imports
 * resolve as a user's would.
 */
export function writeFiles(
	testDirectory: string,
	blocks: readonly PageBlock[],
): string {
	const directory = mkdtempSync(join(testDirectory, ".snippets-"));
	onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
	for (const { name, code } of blocks)
		if (name !== undefined) writeFileSync(join(directory, name), code);
	return directory;
}

/** Runs a program that {@link writeFiles} has written. Its ledger is in the same directory. */
export function runProgram(
	directory: string,
	program: string,
	env: NodeJS.ProcessEnv = {},
): { stdout: string; stderr: string; status: number | null } {
	const { stdout, stderr, status } = spawnSync(
		process.execPath,
		["--conditions=snakepit-source", program],
		{
			cwd: directory,
			encoding: "utf8",
			env: { ...process.env, XDG_STATE_HOME: directory, ...env },
		},
	);
	return { stdout, stderr, status };
}
