// Makes the types of tools that programs of this repository call, from the signatures in Python.
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { digitsEnvironment } from "../apps/demo/src/digits.ts";
import { developmentPython } from "./python-environment.ts";
import { must, root } from "./run.ts";
import { tablesPython } from "./tables-python.ts";

const digits = await digitsEnvironment().make();
writeTypes(digits.python, "apps/demo/src/digits.py", "gen/digits.ts");
const kinds = "packages/adapter-python/test/typescript/typed.py";
writeTypes(developmentPython(), kinds, "gen/typed.ts");
const sentAsOthers = "packages/adapter-python/test/tools/python_types.py";
writeTypes(developmentPython(), sentAsOthers, "gen/python-types.ts");
const templates = "packages/cli/templates/tools.py";
writeTypes(developmentPython(), templates, "tools.ts");
const withTables = tablesPython();
if (withTables !== undefined) {
	const tables = "packages/adapter-python/test/tables/tables.py";
	writeTypes(withTables, tables, "gen/tables.ts");
	const job = "examples/pandas-job/tools.py";
	writeTypes(withTables, job, "src/gen/tools.ts");
}
writeTypes(
	developmentPython(),
	"examples/notebook/src/model.py",
	"gen/model.ts",
);

/** @param output seen from the directory of the tools. */
function writeTypes(python: string, tools: string, output: string): void {
	const file = join(root, dirname(tools), output);
	mkdirSync(dirname(file), { recursive: true });
	const words = ["-m", "snakepit_bridge", "types", tools];
	must(python, [...words, "--output", file]);
}
