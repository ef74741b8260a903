import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const example = fileURLToPath(new URL("..", import.meta.url));
const python = join(example, "../../python/.venv/bin/python");
const read = (path: string): string =>
	readFileSync(join(example, path), "utf8");

interface Ended {
	readonly code: number;
	readonly stdout: string;
	readonly stderr: string;
}

/** Runs it as the README does. */
async function run(...args: string[]): Promise<Ended> {
	const home = mkdtempSync(join(tmpdir(), "snakepit-example-"));
	onTestFinished(() => rmSync(home, { recursive: true, force: true }));
	const program = ["--conditions=snakepit-source", "src/main.ts"];
	return promisify(execFile)(
		process.execPath,
		[...program, ...args, "--python", python],
		{ cwd: example, env: { ...process.env, XDG_STATE_HOME: home } },
	).then(
		({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
		(error: Ended) => error,
	);
}

test("four workers share two GPUs", async () => {
	const { code, stdout } = await run("--devices", "GPU-a,GPU-b");
	expect(code).toBe(0);
	expect(stdout.trim().split("\n").sort()).toEqual([
		...["0.5 of GPU-a", "0.5 of GPU-a", "0.5 of GPU-b", "0.5 of GPU-b"],
	]);
});

test("too few GPUs end it with what the README states", async () => {
	const { code, stdout, stderr } = await run("--devices", "GPU-a");
	expect([code, stdout]).toEqual([1, ""]);
	expect(read("README.md")).toContain(`\n${stderr}`);
});

test("the types in TypeScript are those of its tools", async () => {
	const types = ["-m", "snakepit_bridge", "types", "tools.py", "--check"];
	await promisify(execFile)(python, [...types, "src/gen/tools.ts"], {
		cwd: example,
	});
});

test("the snippet of its README is part of the program", () => {
	const [, code = ""] =
		/^```ts\n([\s\S]*?)^```$/m.exec(read("README.md")) ?? [];
	expect(code).not.toBe("");
	expect(read("src/main.ts")).toContain(code);
});
