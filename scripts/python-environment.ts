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

/** Makes an environment from the arguments of `pip install`, and returns its interpreter. */
export function environment(
	directory: string,
	install: string[],
	content = "",
): string {
	const stamp = createHash("sha256")
		.update(readFileSync(builder))
		.update(JSON.stringify([install, content]))
		.digest("hex");
	const status = run(basePython(), [builder, directory, stamp, ...install]);
	if (status !== 0) process.exit(status);
	return join(directory, "bin/python");
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
