import { developmentPython } from "./python-environment.ts";
import { must } from "./run.ts";

must("biome", ["check", "--write", "."]);
must(developmentPython(), [
	"-m",
	"ruff",
	"check",
	"--fix",
	"python",
	"scripts",
]);
must(developmentPython(), ["-m", "ruff", "format", "python", "scripts"]);
