import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PythonEnvironmentOptions } from "../../src/index.ts";
import { scratch } from "./fake-python.ts";
import { PYTHON } from "./pythons.ts";

/** Where a test makes environments. */
export interface Bench {
	readonly root: string;
	readonly project: string;
	readonly directory: string;
	readonly options: PythonEnvironmentOptions;
}

/** An environment from nothing but a directory with a project in it: no index is asked. */
export function bench(): Bench {
	const root = scratch();
	const project = join(root, "project");
	mkdirSync(project);
	writeProject(project, "1.0");
	const directory = join(root, "environments");
	const options: PythonEnvironmentOptions = {
		requirements: [],
		python: PYTHON,
		directory,
	};
	return { root, project, directory, options };
}

/** A project that is a name and a version. */
export function writeProject(project: string, version: string): void {
	writeFileSync(
		join(project, "pyproject.toml"),
		`[project]\nname = "nothing"\nversion = "${version}"\n`,
	);
}
