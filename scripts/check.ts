import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { developmentPython } from "./python-environment.ts";
import { root, ruff, run, takeNoArguments } from "./run.ts";
import { THOROUGH } from "./test-effort.ts";

takeNoArguments(
	"check",
	"looks at format, lint, types, tests, generated files and packages",
);

const python = developmentPython();
const projects = [
	"tsconfig.json",
	...globSync("{bench,chaos,{packages,apps,examples}/*}/tsconfig.json", {
		cwd: root,
	}),
];
const bad: string[] = [];

step("format and lint, TypeScript", () => run("biome", ["check", "."]) === 0);
step("lint, Python", () => ruff(python, "check"));
step("format, Python", () => ruff(python, "format", "--check"));
for (const project of projects)
	step(`types, ${project}`, () => run("tsc", ["-p", project]) === 0);
step(
	"types, Python",
	() => run(python, ["-m", "mypy"], { cwd: join(root, "python") }) === 0,
);
step("generated files are fresh", generatedIsFresh);
// Its compiler exists for few systems; the binaries are the same from each.
if (process.platform === "linux")
	step(
		"native binaries are fresh",
		() => run(process.execPath, ["native/build.ts", "--check"]) === 0,
	);
step(
	"packages",
	() => run(process.execPath, ["scripts/check-packages.ts"]) === 0,
);
step(
	"single executables",
	() =>
		run(process.execPath, ["bundles/src/main.ts", "single executable"]) === 0,
);
step("tests, with all their rounds and coverage", () => {
	const env = { ...process.env, [THOROUGH]: "1" };
	return run(process.execPath, ["scripts/test.ts"], { env }) === 0;
});

console.log(
	bad.length === 0 ? "\nAll checks passed." : `\nFailed: ${bad.join("; ")}.`,
);
process.exitCode = bad.length === 0 ? 0 : 1;

function step(name: string, passes: () => boolean) {
	console.log(`\n== ${name}`);
	if (!passes()) bad.push(name);
}

function generatedIsFresh(): boolean {
	if (run(process.execPath, ["scripts/generate.ts"]) !== 0) return false;
	const { stdout } = spawnSync(
		"git",
		[
			"status",
			"--porcelain",
			"--",
			"**/gen/",
			"**/_gen/",
			"**/migrations/",
			"docs/benchmarks.md",
			"docs/reference/",
			"packages/*/api.md",
			"packages/telemetry/grafana/",
			"packages/telemetry/prometheus/",
			"python/src/snakepit_bridge/_version.py",
		],
		{ cwd: root, encoding: "utf8" },
	);
	if (stdout === "") return true;
	console.error(`Commit what \`pnpm generate\` makes:\n${stdout}`);
	return false;
}
