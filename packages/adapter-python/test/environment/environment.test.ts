import { execFile, spawn } from "node:child_process";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createPool } from "@snakepit/core";
import { expect, test } from "vitest";
import { requireBridgeAmong } from "../../src/environment/bridge-requirement.ts";
import { VERSION } from "../../src/gen/version.ts";
import {
	type MadeEnvironment,
	type PythonEnvironment,
	type PythonEnvironmentOptions,
	python as pythonAdapter,
	pythonEnvironment,
} from "../../src/index.ts";
import { failureOf } from "../support/calls.ts";
import { fakePython, scratch } from "../support/fake-python.ts";
import { PYTHON, toolsFile } from "../support/pythons.ts";

const program = fileURLToPath(
	new URL("../programs/make-environment.ts", import.meta.url),
);
const execute = promisify(execFile);

/** An environment from nothing but a directory with a project in it: no index is asked. */
function bench() {
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

function writeProject(project: string, version: string): void {
	writeFileSync(
		join(project, "pyproject.toml"),
		`[project]\nname = "nothing"\nversion = "${version}"\n`,
	);
}

const inAnotherProgram = async (
	options: PythonEnvironmentOptions,
): Promise<MadeEnvironment> =>
	JSON.parse(
		(
			await execute(process.execPath, [
				"--conditions=snakepit-source",
				program,
				JSON.stringify(options),
			])
		).stdout,
	);

test("an environment is made once for all who ask at once, in this program and in others, and reused later", {
	timeout: 120_000,
}, async () => {
	const { options, directory } = bench();
	const environment = pythonEnvironment(options);
	const made = await Promise.all([
		environment.make(),
		environment.make(),
		inAnotherProgram(options),
		inAnotherProgram(options),
	]);
	expect(new Set(made.map(({ python }) => python)).size).toBe(1);
	expect(made.filter(({ reused }) => !reused)).toHaveLength(1);
	const [first] = made;
	const { stdout } = await execute(first?.python ?? "", [
		"-c",
		"import sys; print(sys.prefix)",
	]);
	expect(stdout.trim()).toBe(first?.directory);
	expect(await environment.make()).toEqual({ ...first, reused: true });
	expect(
		readdirSync(directory).filter((name) => !name.endsWith(".lock")),
	).toHaveLength(1);
});

test("other requirements are another environment, in whatever order they are named", {
	timeout: 120_000,
}, async () => {
	const { environmentKey, readRequirement } = await import(
		"../../src/environment/environment-key.ts"
	);
	const { project } = bench();
	const interpreter = {
		executable: "/python",
		version: [3, 12, 0],
	} as const;
	const key = (...texts: string[]) =>
		environmentKey(texts.map(readRequirement), interpreter);
	expect(key("a", "b")).toBe(key("b", "a"));
	expect(key("a")).not.toBe(key("a", "b"));
	expect(environmentKey([], interpreter)).not.toBe(
		environmentKey([], { ...interpreter, version: [3, 13, 0] }),
	);
	const before = key(project);
	writeProject(project, "2.0");
	expect(key(project)).not.toBe(before);
	expect(key(`${project}[grpc]`)).not.toBe(key(project));
});

test("a directory with extras is installed editable, as one without", async () => {
	const { installArguments, readRequirement } = await import(
		"../../src/environment/environment-key.ts"
	);
	const { project } = bench();
	const install = (text: string) => installArguments([readRequirement(text)]);
	expect(install(project)).toEqual(["--editable", project]);
	expect(install(`${project}[a, b]`)).toEqual([
		"--editable",
		`${project}[a, b]`,
	]);
	expect(install("numpy[a]>=2")).toEqual(["numpy[a]>=2"]);
});

test("what pip said last is in the error", {
	timeout: 120_000,
}, async () => {
	const { root, options } = bench();
	const requirements = [`missing @ file://${join(root, "missing.tar.gz")}`];
	const environment = pythonEnvironment({ ...options, requirements });
	const error = await failureOf(environment.make());
	expect(error).toMatchObject({ code: "ENVIRONMENT_FAILED", ran: "no" });
	expect(String(error)).toContain("missing.tar.gz");
});

test.each<[string, readonly string[]]>([
	["none", []],
	["others", ["numpy", "scikit-learn>=1.5,<2 ; python_version >= '3.10'"]],
	["one with a name like it", ["snakepit-bridge-tools[all]==1.0"]],
])(
	"a pool is refused before its environment is made where the bridge is not among its requirements: %s",
	async (_which, requirements) => {
		const { options, directory } = bench();
		const environment = pythonEnvironment({ ...options, requirements });
		const tools = toolsFile("bench.py");
		const env = { PYTHONPATH: undefined };
		const error = await failureOf(
			createPool({
				adapter: pythonAdapter({ tools, environment, env }),
				size: 1,
				dataDir: scratch(),
			}),
		);
		expect(error).toMatchObject({ code: "BRIDGE_MISSING", ran: "no" });
		expect(String(error)).toContain('Add "snakepit-bridge"');
		expect(existsSync(directory)).toBe(false);
	},
);

test.each([
	["snakepit-bridge"],
	["Snakepit_Bridge [numpy] >= 1.0"],
	["snakepit.bridge@file:///somewhere/x.whl"],
	["./wheels/tools-1.0-py3-none-any.whl"],
	["tools-1.0.tar.gz"],
	["git+https://example.org/tools.git"],
	["https://example.org/tools"],
	[dirname(program)],
])("%s may bring the bridge", (requirement) => {
	const texts = ["numpy", requirement];
	expect(() => requireBridgeAmong(texts, {})).not.toThrow();
});

test("the bridge by its name alone is the one of this release; with a version it is that one", async () => {
	const { readRequirement } = await import(
		"../../src/environment/environment-key.ts"
	);
	const release = VERSION.split(".", 2).join(".");
	const text = (requirement: string) => readRequirement(requirement);
	expect(text(" Snakepit_Bridge ")).toEqual({
		kind: "named",
		text: `snakepit-bridge==${release}.*`,
	});
	expect(text("snakepit-bridge[otel, numpy]")).toEqual({
		kind: "named",
		text: `snakepit-bridge[otel, numpy]==${release}.*`,
	});
	for (const other of ["snakepit-bridge>=0.1", "snakepit-bridge-tools", "x"])
		expect(text(other)).toEqual({ kind: "named", text: other });
});

test("so may a path that Python is given", () => {
	const refused = () => requireBridgeAmong(["numpy"], { PYTHONPATH: "" });
	expect(refused).toThrow(/\(numpy\)/);
	expect(() =>
		requireBridgeAmong(["numpy"], { PYTHONPATH: "/bridge" }),
	).not.toThrow();
});

test.each([
	["what a directory brings", [dirname(program)]],
	["what somebody else makes", undefined],
])(
	"an environment of which it is not known before is refused when it is made: %s",
	async (_which, requirements) => {
		const python = fakePython(join(scratch(), "python"), "3.12.0", {
			bridge: undefined,
		});
		let made = 0;
		const environment: PythonEnvironment = {
			requirements,
			make: async () => {
				made++;
				return { python, directory: "/d", key: "k", reused: false };
			},
		};
		const error = await failureOf(
			createPool({
				adapter: pythonAdapter({ tools: toolsFile("bench.py"), environment }),
				size: 1,
				dataDir: scratch(),
			}),
		);
		expect(error).toMatchObject({ code: "BRIDGE_MISSING", ran: "no" });
		expect(made).toBe(1);
	},
);

test("what a builder left that was killed in the middle is made anew", {
	timeout: 120_000,
}, async () => {
	const { root, options, directory } = bench();
	// A base whose venv never gets done: the host is killed meanwhile.
	const child = spawn(
		process.execPath,
		["--conditions=snakepit-source", program, JSON.stringify(options)],
		{
			stdio: "ignore",
			env: { ...process.env, PATH: slowPath(root) },
		},
	);
	const gone = new Promise((resolve) => child.once("exit", resolve));
	await expect
		.poll(() => existsSync(join(root, "uv-runs")), { timeout: 30_000 })
		.toBe(true);
	child.kill("SIGKILL");
	await gone;
	const made = await pythonEnvironment(options).make();
	expect(made.reused).toBe(false);
	expect(made.directory.startsWith(directory)).toBe(true);
});

/** A PATH with a uv that says that it runs, and then hangs. */
function slowPath(root: string): string {
	const bin = join(root, "bin");
	mkdirSync(bin);
	writeFileSync(
		join(bin, "uv"),
		`#!/bin/sh\ntouch ${join(root, "uv-runs")}\nexec sleep 600\n`,
	);
	chmodSync(join(bin, "uv"), 0o755);
	return `${bin}:${process.env["PATH"]}`;
}

test("an abort ends the builder", { timeout: 120_000 }, async () => {
	const { options } = bench();
	const abort = new AbortController();
	const failure = failureOf(pythonEnvironment(options).make(abort.signal));
	const reason = new Error("no patience");
	abort.abort(reason);
	expect(await failure).toBe(reason);
});

test("a builder that takes too long is ended, and says so", {
	timeout: 120_000,
}, async () => {
	const { root, options } = bench();
	const path = process.env["PATH"];
	process.env["PATH"] = slowPath(root);
	try {
		const failure = await failureOf(
			pythonEnvironment({ ...options, buildTimeoutMs: 3_000 }).make(),
		);
		expect(failure).toMatchObject({
			code: "ENVIRONMENT_FAILED",
			message: expect.stringContaining("buildTimeoutMs"),
		});
	} finally {
		process.env["PATH"] = path;
	}
});

test("a directory that others can write to is refused: what lies in it is executed", async () => {
	const { root, options } = bench();
	const open = join(root, "open");
	mkdirSync(open);
	chmodSync(open, 0o777);
	const linked = join(root, "linked");
	symlinkSync(root, linked);
	for (const directory of [open, linked]) {
		expect(
			await failureOf(pythonEnvironment({ ...options, directory }).make()),
		).toMatchObject({ code: "ENVIRONMENT_FAILED" });
	}
});
