import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
	isNative,
	nativeOverrides,
	type Packed,
	packPackages,
} from "./pack-packages.ts";
import { importIsLight, psIsLight } from "./package-costs.ts";
import { environment } from "./python-environment.ts";
import { must, root } from "./run.ts";

// Outside the workspace, so that nothing resolves by luck.
const work = mkdtempSync(join(tmpdir(), "snakepit-packages-"));
process.once("exit", () => rmSync(work, { recursive: true }));
const packed = packPackages(work);
for (const { tarball } of packed) must("publint", ["run", tarball, "--strict"]);
const packages = packed.filter((each) => !isNative(each));
// A package of a command has nothing to import.
const imported = packages.filter(({ entries }) => entries.length > 0);
for (const { tarball } of imported)
	must("attw", [tarball, "--profile", "esm-only"]);
const all = install("all", packages);
entriesLoad(all, packages);
readmeProgramRuns(all);
quickstartCompiles(all);
layersWork(all);
commandsRun(all);
await psIsLight(all, 8);
// Core brings the server of control.
const core = packages.filter(({ name }) =>
	["@snakepit/core", "@snakepit/control"].includes(name),
);
const alone = install("core-alone", core);
entriesLoad(alone, core);
isWithout(alone, /grpc|opentelemetry|protobuf|drizzle/);
importIsLight(alone, "@snakepit/core", { processorMs: 30, megabytes: 12 });
const python = packages.filter(
	({ name }) => name === "@snakepit/adapter-python",
);
const withPython = install("python", [...core, ...python]);
entriesLoad(withPython, python);
isWithout(withPython, /grpc|opentelemetry|protobuf/);
importIsLight(withPython, "@snakepit/adapter-python", {
	processorMs: 75,
	megabytes: 20,
});

function install(project: string, packages: readonly Packed[]): string {
	const cwd = join(work, project);
	mkdirSync(cwd);
	const overrides = nativeOverrides(packed);
	const manifest = JSON.stringify({ type: "module", overrides });
	writeFileSync(join(cwd, "package.json"), manifest);
	const tarballs = packages.map(({ tarball }) => tarball);
	// Types of Node are the user's choice, as in any library for Node.
	const all = [...tarballs, "@types/node@22"];
	must("npm", ["install", "--no-audit", "--no-fund", ...all], { cwd });
	return cwd;
}

function entriesLoad(cwd: string, packages: readonly Packed[]) {
	const program = packages
		.flatMap(({ entries }) => entries)
		.map((entry, index) => `import * as e${index} from "${entry}"; e${index};`)
		.join("\n");
	writeFileSync(join(cwd, "program.ts"), program);
	must(process.execPath, ["program.ts"], { cwd });
	must(
		"tsc",
		[
			"--noEmit",
			"--strict",
			"--module",
			"nodenext",
			"--types",
			"node",
			"program.ts",
		],
		{ cwd },
	);
}

/** Runs the README's blocks marked `packed`; their first line names a file. */
function readmeProgramRuns(cwd: string) {
	const readme = readFileSync(join(root, "README.md"), "utf8");
	const block = /^```\w+ packed\n(?:\/\/|#) (\S+)\n(.*?)^```$/gms;
	const files = [...readme.matchAll(block)];
	const program = files.find(([, name]) => name?.endsWith(".ts"))?.[1];
	assert(program, "README.md has no block ```ts packed");
	for (const [, name = "", text = ""] of files)
		writeFileSync(join(cwd, name), text);
	const venv = join(work, "venv");
	// Without the extra: what the README's program needs does without gRPC.
	environment(venv, [join(root, "python")]);
	const absent =
		"import importlib.util as u; assert u.find_spec('grpc') is None";
	must(join(venv, "bin/python"), ["-c", absent]);
	must(process.execPath, [program], {
		cwd,
		env: { ...process.env, VIRTUAL_ENV: venv },
	});
}

/** The types of the README's program are checked with what the quickstart tells to install and to write. */
function quickstartCompiles(cwd: string) {
	const page = readFileSync(join(root, "docs/quickstart.md"), "utf8");
	const config = /^```json\n(.*?)^```$/ms.exec(page)?.[1];
	assert(config, "docs/quickstart.md has no tsconfig.json");
	writeFileSync(join(cwd, "tsconfig.json"), config);
	must("tsc", ["-p", "."], { cwd });
}

/** The guard and the lifeline need the native binary, installed with core and executable. */
function layersWork(cwd: string) {
	if (process.platform !== "linux") return;
	const doctor = join(cwd, "node_modules/.bin/snakepit");
	const args = ["doctor", "--json", "--data-dir", join(work, "ledger")];
	const layers = JSON.parse(execFileSync(doctor, args, { encoding: "utf8" }));
	const guard = layers.find(
		({ layer }: { layer: string }) => layer === "guard",
	);
	assert.equal(guard?.status, "available", JSON.stringify(guard));
	const lifeline = layers.find(
		({ layer }: { layer: string }) => layer === "lifeline",
	);
	assert.match(lifeline?.detail, /@snakepit\/native-linux-\w+\/bin/);
}

/** `snakepit` is found and executable, and finds the native binary and Node's part of it. */
function commandsRun(cwd: string) {
	const snakepit = join(cwd, "node_modules/.bin/snakepit");
	const run = (...args: readonly string[]) =>
		execFileSync(snakepit, args, { encoding: "utf8" });
	assert.match(run("--version"), /^\d+\.\d+\.\d+/);
	assert.match(run("run", "--help"), /^Usage: snakepit run/);
	assert.equal(run("run", "--", "echo", "x"), "x\n");
	if (process.platform !== "linux") return;
	// The supervisor that the native binary has; Node has none.
	const parent = run("run", "--", "sh", "-c", "cat /proc/$PPID/comm");
	assert.equal(parent, "snakepit-native\n");
}

/** Nobody gets gRPC or OpenTelemetry who did not choose it. */
function isWithout(cwd: string, unwanted: RegExp) {
	const installed = readdirSync(join(cwd, "node_modules"));
	const strangers = installed.filter((name) => unwanted.test(name));
	assert.deepEqual(strangers, []);
}
