import { spawnSync } from "node:child_process";
import { appendFileSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { environment } from "../../scripts/python-environment.ts";
import { must } from "../../scripts/run.ts";
import { PYTHON, pythonFiles } from "./areas.ts";
import type { FileScore } from "./main.ts";
import type { Workspace } from "./workspace.ts";

const MUTMUT = "mutmut==3.8.1";
/** Exit codes of a mutant's tests, as mutmut records them. */
const SURVIVED = 0;
const NO_TESTS: readonly number[] = [5, 33];

/** Changes Python files in the ways that mutmut knows, and counts what their own tests notice. */
export function runPython(
	{ directory, enclosed, env, handOver }: Workspace,
	named: readonly string[],
): readonly FileScore[] {
	const cwd = join(directory, PYTHON);
	const { files, tests } = chosenFiles(cwd, named);
	const python = environment(join(directory, ".venv"), [
		...["--editable", `${cwd}[grpc]`, "--group", `${cwd}/pyproject.toml:dev`],
		MUTMUT,
	]);
	const list = (entries: readonly string[]) => JSON.stringify(entries);
	appendFileSync(
		join(cwd, "pyproject.toml"),
		`
[tool.mutmut]
source_paths = ["src"]
only_mutate = ${list(files)}
pytest_add_cli_args = ${list(["-p", "without_workers", "-p", "no:cacheprovider"])}
pytest_add_cli_args_test_selection = ${list(tests)}
# Texts of messages are read by people; tests of them would only repeat them.
do_not_mutate_patterns = ["^ *raise ", "^ *f?\\"[^\\"]*\\"$"]
`,
	);
	// mutmut runs a copy of the tests one directory below: what they look for above it has to be there.
	symlinkSync(join(directory, "proto"), join(cwd, "proto"));
	handOver(cwd);
	const options = {
		cwd,
		env: { ...env, PYTHONPATH: join(directory, "mutation/python") },
	};
	const [command = "", ...args] = [...enclosed, python, "-m", "mutmut"];
	must(command, [...args, "run", "--max-children", "1"], options);
	return files.map((file) => {
		const codes = exitCodes(join(cwd, "mutants", `${file}.meta`));
		const missed = codes.filter(
			([, code]) => code === SURVIVED || NO_TESTS.includes(code),
		);
		for (const [mutant] of missed)
			spawnSync(command, [...args, "show", mutant], {
				...{ ...options, stdio: "inherit" },
			});
		const survived = codes.filter(([, code]) => code === SURVIVED).length;
		return {
			file: `${PYTHON}/${file}`,
			killed: codes.length - missed.length,
			survived,
			uncovered: missed.length - survived,
		};
	});
}

/** @throws Error for a file that has no tests of its own. */
function chosenFiles(
	cwd: string,
	named: readonly string[],
): { readonly files: readonly string[]; readonly tests: readonly string[] } {
	const known = pythonFiles(cwd);
	const wanted = named.map((file) => file.replace(/^python\//, ""));
	const unknown = wanted.find((file) => !known.has(file));
	if (unknown !== undefined)
		throw new Error(
			`${unknown} is not one of ${[...known.keys()].join(", ")}.`,
		);
	const files = wanted.length > 0 ? wanted : [...known.keys()];
	const tests = files.flatMap((file) => known.get(file) ?? []);
	return { files, tests: [...new Set(tests)] };
}

function exitCodes(
	meta: string,
): readonly (readonly [mutant: string, code: number])[] {
	const { exit_code_by_key } = JSON.parse(readFileSync(meta, "utf8")) as {
		exit_code_by_key: Record<string, number | null>;
	};
	return Object.entries(exit_code_by_key).map(([mutant, code]) => {
		if (code === null || code === 2 || code === 34)
			throw new Error(`mutmut did not run ${mutant}.`);
		return [mutant, code] as const;
	});
}
