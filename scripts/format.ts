import { developmentPython } from "./python-environment.ts";
import { must, ruff, takeNoArguments } from "./run.ts";

takeNoArguments("format", "formats TypeScript and Python in place");

const python = developmentPython();
must("biome", ["check", "--write", "."]);
const isFormatted = ruff(python, "check", "--fix") && ruff(python, "format");
process.exitCode = isFormatted ? 0 : 1;
