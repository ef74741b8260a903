import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
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

/**
 * Returns the interpreter of an environment that has these pinned packages, for a test of programs that use them;
 * `undefined` where it cannot be made, as without a network.
 */
export function testPython(
	name: string,
	requirements: string[],
): string | undefined {
	const directory = join(root, "node_modules/.cache/python", name);
	return make(directory, requirements) === 0
		? interpreterOf(directory)
		: undefined;
}

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
function make(directory: string, install: string[], content = ""): number {
	const stamp = createHash("sha256")
		.update(readFileSync(builder))
		.update(JSON.stringify([install, content]))
		.digest("hex");
	return run(basePython(), [builder, directory, stamp, ...install], {
		timeout: LONGEST_MS,
	});
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
