import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root, run } from "./run.ts";

const builder = join(import.meta.dirname, "python_environment.py");
const pyproject = join(root, "python/pyproject.toml");

/** Returns the interpreter of `python/.venv`: the bridge, editable, and its tools. */
export function developmentPython(): string {
	return environment(
		join(root, "python/.venv"),
		[
			"--editable",
			`${join(root, "python")}[grpc]`,
			"--group",
			`${pyproject}:dev`,
		],
		readFileSync(pyproject, "utf8"),
	);
}

/** Returns the interpreter of an environment that has one pinned tool. */
export function toolPython(requirement: string): string {
	return environment(join(root, "node_modules/.cache/python", requirement), [
		requirement,
	]);
}

/** An environment that has these pinned packages, for tests of programs that use them. */
export interface TestEnvironment {
	readonly name: string;
	readonly requirements: readonly string[];
}

/** Returns the interpreter of an environment; `undefined` where it cannot be made, as without a network. */
export function testPython({
	name,
	requirements,
}: TestEnvironment): string | undefined {
	const directory = testDirectory(name);
	return make(directory, requirements) === 0
		? interpreterOf(directory)
		: undefined;
}

/** Makes an environment while this program goes on. Who asks for it meanwhile waits; who finds it missing makes it. */
export async function makeBeside({
	name,
	requirements,
}: TestEnvironment): Promise<void> {
	const words = building(testDirectory(name), requirements);
	const child = spawn(basePython(), words, {
		cwd: root,
		stdio: "inherit",
		timeout: LONGEST_MS,
	});
	await once(child, "exit");
}

const testDirectory = (name: string): string =>
	join(root, "node_modules/.cache/python", name);

/** Makes an environment from the arguments of `pip install`, and returns its interpreter. */
export function environment(
	directory: string,
	install: string[],
	content = "",
): string {
	const status = make(directory, install, content);
	if (status !== 0) process.exit(status);
	return interpreterOf(directory);
}

const interpreterOf = (directory: string): string =>
	join(directory, "bin/python");

/** Longer than any install takes: a registry that stops to answer must not stop a run of tests. */
const LONGEST_MS = 600_000;

/** @returns the exit code of what makes it. */
function make(
	directory: string,
	install: readonly string[],
	content = "",
): number {
	return run(basePython(), building(directory, install, content), {
		timeout: LONGEST_MS,
	});
}

/** The arguments of the program that makes it. */
function building(
	directory: string,
	install: readonly string[],
	content = "",
): string[] {
	const stamp = createHash("sha256")
		.update(readFileSync(builder))
		.update(JSON.stringify([install, content]))
		.digest("hex");
	return [builder, directory, stamp, ...install];
}

function basePython(): string {
	const minors = [14, 13, 12, 11, 10];
	const names = ["python3", ...minors.map((minor) => `python3.${minor}`)];
	for (const name of names) {
		// A name on PATH may be a shim for a version that is not there: run it.
		const program = "import sys; sys.exit(sys.version_info < (3, 10))";
		const tried = spawnSync(name, ["-c", program], { stdio: "ignore" });
		if (tried.status === 0) return name;
	}
	console.error(
		`No Python 3.10 or newer on PATH, looked for ${names.join(", ")}. Install one; on Debian and Ubuntu: apt install python3-venv`,
	);
	process.exit(1);
}
