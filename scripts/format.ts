import { developmentPython } from "./python-environment.ts";
import { must, takeNoArguments } from "./run.ts";

takeNoArguments("format", "formats TypeScript and Python in place");

const python = developmentPython();
const elsewhere = [
	...["--config", "python/pyproject.toml"],
	...["apps", "bench", "chaos", "examples", "packages"],
];

must("biome", ["check", "--write", "."]);
for (const where of [["python", "scripts"], elsewhere]) {
	must(python, ["-m", "ruff", "check", "--fix", ...where]);
	must(python, ["-m", "ruff", "format", ...where]);
}
