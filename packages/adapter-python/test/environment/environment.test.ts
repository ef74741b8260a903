import { execFile, spawn, spawnSync } from "node:child_process";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { isThorough } from "../../../../scripts/test-effort.ts";
import {
	type MadeEnvironment,
	type PythonEnvironmentOptions,
	pythonEnvironment,
} from "../../src/index.ts";
import { failureOf } from "../support/calls.ts";
import { bench } from "../support/environments.ts";
import { PYTHON } from "../support/pythons.ts";

const program = fileURLToPath(
	new URL("../programs/make-environment.ts", import.meta.url),
);
const execute = promisify(execFile);

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

test("an environment is created once for all simultaneous requests, of this program and others, and reused later", {
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

test("what the installer said last is in the error", async () => {
	const { root, options } = bench();
	vi.stubEnv("PATH", pathWithUv(root, "echo 'no missing.tar.gz' >&2; exit 2"));
	onTestFinished(() => void vi.unstubAllEnvs());
	const error = await failureOf(pythonEnvironment(options).make());
	expect(error).toMatchObject({ code: "ENVIRONMENT_FAILED", ran: "no" });
	expect(String(error)).toContain("no missing.tar.gz");
});

// Pip is put into the environment first, which takes ten seconds of processor time.
test.runIf(isThorough())(
	"what pip said last is in the error",
	{ timeout: 120_000 },
	async () => {
		const { root, options } = bench();
		const requirements = [`missing @ file://${join(root, "missing.tar.gz")}`];
		const environment = pythonEnvironment({ ...options, requirements });
		const error = await failureOf(environment.make());
		expect(error).toMatchObject({ code: "ENVIRONMENT_FAILED", ran: "no" });
		expect(String(error)).toContain("missing.tar.gz");
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

/** A PATH with a uv that is a script. */
function pathWithUv(root: string, script: string): string {
	const bin = join(root, "bin");
	mkdirSync(bin);
	writeFileSync(join(bin, "uv"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
	return `${bin}:${process.env["PATH"]}`;
}

/** A PATH with a uv that says that it runs, and then hangs. */
function slowPath(root: string): string {
	const trace = join(root, "uv-runs");
	return pathWithUv(root, `touch ${trace}\nexec sleep 600`);
}

test("an abort ends the builder", { timeout: 120_000 }, async () => {
	const { options } = bench();
	const abort = new AbortController();
	const failure = failureOf(pythonEnvironment(options).make(abort.signal));
	const reason = new Error("time limit");
	abort.abort(reason);
	expect(await failure).toBe(reason);
});

test("a builder that takes too long is ended, and says so", {
	timeout: 120_000,
}, async () => {
	const { root, options } = bench();
	vi.stubEnv("PATH", slowPath(root));
	onTestFinished(() => void vi.unstubAllEnvs());
	const failure = await failureOf(
		pythonEnvironment({ ...options, buildTimeoutMs: 3_000 }).make(),
	);
	expect(failure).toMatchObject({
		code: "ENVIRONMENT_FAILED",
		message: expect.stringContaining("buildTimeoutMs"),
	});
});

const WHEEL = `
import sys, zipfile
info = "nothing-1.0.dist-info/"
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("nothing/__init__.py", "")
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: nothing\\nVersion: 1.0\\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "RECORD", "")
`;

// Without uv, pip is put into the environment first, which takes ten seconds of processor time.
test.runIf(hasUv() || isThorough())(
	"what is installed is compiled, also where workers may not keep compiled files",
	{ timeout: 120_000 },
	async () => {
		vi.stubEnv("PYTHONDONTWRITEBYTECODE", "1");
		onTestFinished(() => void vi.unstubAllEnvs());
		const { root, options } = bench();
		const wheel = join(root, "nothing-1.0-py3-none-any.whl");
		await execute(PYTHON, ["-c", WHEEL, wheel]);
		const requirements = [`nothing @ file://${wheel}`];
		const environment = pythonEnvironment({ ...options, requirements });
		const { python } = await environment.make();
		const { stdout } = await execute(python, [
			"-c",
			"import nothing, os; print(os.path.exists(nothing.__cached__))",
		]);
		expect(stdout.trim()).toBe("True");
	},
);

function hasUv(): boolean {
	return spawnSync("uv", ["--version"], { stdio: "ignore" }).status === 0;
}

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
