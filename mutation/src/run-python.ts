import { spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { environment } from "../../scripts/python-environment.ts";
import { must } from "../../scripts/run.ts";
import type { Enclosure } from "./enclosure.ts";
import { PYTHON_FILES } from "./python-files.ts";
import type { FileScore } from "./score.ts";

/** Names the area of the Python side. */
export const PYTHON = "python";

const MUTMUT = "mutmut==3.8.1";
/** Exit codes of a mutant's tests, as mutmut records them. */
const SURVIVED = 0;
const NO_TESTS: readonly number[] = [5, 33];

/** Changes Python files in the ways that mutmut knows, and counts what their own tests notice. */
export function runPython(
	workspace: string,
	{ prefix, handOver }: Enclosure,
	named: readonly string[],
): readonly FileScore[] {
	const files = filesOf(named);
	const cwd = join(workspace, PYTHON);
	const home = join(workspace, ".python-home");
	mkdirSync(home);
	const python = environment(join(workspace, ".venv"), [
		...["--editable", `${cwd}[grpc]`, "--group", `${cwd}/pyproject.toml:dev`],
		MUTMUT,
	]);
	appendFileSync(join(cwd, "pyproject.toml"), mutmutConfig(files));
	// mutmut runs a copy of the tests one directory below: what they look for above it has to be there.
	symlinkSync(join(workspace, "proto"), join(cwd, "proto"));
	for (const directory of [cwd, home]) handOver(directory);
	const env = {
		PATH: process.env["PATH"],
		HOME: home,
		TMPDIR: home,
		PYTHONPATH: join(workspace, "mutation/python"),
	};
	const [command = "", ...args] = [...prefix, python, "-m", "mutmut"];
	must(command, [...args, "run", "--max-children", "1"], { cwd, env });
	return files.map((file) => {
		const results = resultsOf(join(cwd, "mutants", `${file}.meta`));
		for (const [mutant, code] of results)
			if (code === SURVIVED || NO_TESTS.includes(code))
				spawnSync(command, [...args, "show", mutant], {
					cwd,
					env,
					stdio: "inherit",
				});
		return fileScore(`${PYTHON}/${file}`, results);
	});
}

function filesOf(named: readonly string[]): readonly string[] {
	const known = Object.keys(PYTHON_FILES);
	const files = named.map((file) => file.replace(/^python\//, ""));
	const unknown = files.find((file) => !known.includes(file));
	if (unknown !== undefined)
		throw new Error(
			`No tests are known of ${unknown}: add it to mutation/src/python-files.ts. Known are ${known.join(", ")}.`,
		);
	return files.length > 0 ? files : known;
}

function mutmutConfig(files: readonly string[]): string {
	const tests = [...new Set(files.flatMap((file) => PYTHON_FILES[file] ?? []))];
	const list = (entries: readonly string[]) => JSON.stringify(entries);
	return `
[tool.mutmut]
source_paths = ["src"]
only_mutate = ${list(files)}
pytest_add_cli_args = ${list(["-p", "without_workers", "-p", "no:cacheprovider"])}
pytest_add_cli_args_test_selection = ${list(tests)}
# Texts of messages are read by people; tests of them would only repeat them.
do_not_mutate_patterns = ["^ *raise ", "^ *f?\\"[^\\"]*\\"$"]
`;
}

type Results = readonly (readonly [mutant: string, code: number])[];

function resultsOf(meta: string): Results {
	const { exit_code_by_key } = JSON.parse(readFileSync(meta, "utf8")) as {
		exit_code_by_key: Record<string, number | null>;
	};
	return Object.entries(exit_code_by_key).map(([mutant, code]) => {
		if (code === null || code === 2 || code === 34)
			throw new Error(`mutmut did not run ${mutant}.`);
		return [mutant, code] as const;
	});
}

function fileScore(file: string, results: Results): FileScore {
	const survived = results.filter(([, code]) => code === SURVIVED).length;
	const uncovered = results.filter(([, code]) =>
		NO_TESTS.includes(code),
	).length;
	return {
		file,
		killed: results.length - survived - uncovered,
		survived,
		uncovered,
	};
}
