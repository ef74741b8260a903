import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { developmentPython } from "../../../../scripts/python-environment.ts";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { SNAKEPIT_IN_NODE, snakepit } from "../run/started.ts";

const DEADLINE_MS = 120_000;
const TEMPLATES = join(import.meta.dirname, "../../templates");
const [program, ...before] = SNAKEPIT_IN_NODE;

/** A directory with the tools of a new project. */
function place(): string {
	const path = temporaryDirectory();
	copyFileSync(join(TEMPLATES, "tools.py"), join(path, "tools.py"));
	return path;
}

function argumentsOf(...args: readonly string[]): readonly string[] {
	const python = ["--python", developmentPython()];
	return ["types", "tools.py", ...args, ...python];
}

function types(cwd: string, ...args: readonly string[]) {
	return snakepit(argumentsOf(...args), { cwd });
}

test(
	"the types are printed or written; those of new projects are up to date",
	() => {
		const cwd = place();
		const text = readFileSync(join(TEMPLATES, "tools.ts"), "utf8");
		expect(types(cwd)).toEqual({ status: 0, stdout: text, stderr: "" });
		expect(types(cwd, "--output", "out.ts").stdout).toBe("Wrote out.ts.\n");
		expect(readFileSync(join(cwd, "out.ts"), "utf8")).toBe(text);
		expect(types(cwd, "--output", "out.ts").stdout).toBe(
			"out.ts is up to date.\n",
		);
		expect(types(cwd, "--watch")).toMatchObject({
			...{ status: 2, stderr: expect.stringContaining("needs --output") },
		});
		writeFileSync(join(cwd, "tools.py"), "def broken(:\n");
		expect(types(cwd, "--output", "out.ts")).toMatchObject({
			...{ status: 1, stderr: expect.stringContaining("SyntaxError") },
		});
		expect(readFileSync(join(cwd, "out.ts"), "utf8")).toBe(text);
	},
	DEADLINE_MS,
);

test(
	"files of the working directory that are named like modules of Python are not run",
	() => {
		const cwd = place();
		for (const name of ["json", "types", "operator", "re", "runpy"])
			writeFileSync(join(cwd, `${name}.py`), 'raise ImportError("planted")\n');
		const args = ["types", join(place(), "tools.py")];
		const python = ["--python", developmentPython()];
		expect(snakepit([...args, ...python], { cwd })).toMatchObject({
			...{ status: 0, stderr: "" },
		});
	},
	DEADLINE_MS,
);

test(
	"several files and modules have their types in one file, as the option tools takes them",
	() => {
		const cwd = place();
		writeFileSync(
			join(cwd, "legacy.py"),
			"def half(n: float) -> float:\n    return n / 2\n",
		);
		const { status, stdout, stderr } = types(
			cwd,
			"math:sqrt,gcd",
			"legacy:half",
			"./legacy.py:half",
		);
		expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
		expect(stderr).toContain("half");
		const text = types(cwd, "math:sqrt,gcd", "legacy:half").stdout;
		for (const name of ["greet", "sqrt", "gcd", "half"])
			expect(text).toMatch(new RegExp(`^ {2}${name}\\(`, "m"));
		expect(types(cwd, "nowhere:f").stderr).toContain("nowhere");
	},
	DEADLINE_MS,
);

test(
	"--watch writes them again when a file beside the tools is changed or replaced, and outlives a syntax error",
	async () => {
		const cwd = place();
		const args = argumentsOf("--output", "out.ts", "--watch");
		const child = spawn(program, [...before, ...args], {
			cwd,
			stdio: ["ignore", "pipe", "pipe"],
		});
		onTestFinished(() => void child.kill("SIGKILL"));
		/** Waits for the next text that it prints. */
		const prints = async (stream: "stdout" | "stderr", text: string) => {
			let printed = "";
			while (!printed.includes(text)) {
				const [chunk] = await once(child[stream], "data");
				printed += chunk;
			}
		};
		const written = () => readFileSync(join(cwd, "out.ts"), "utf8");
		await prints("stdout", "Wrote out.ts.");
		expect(written()).toContain("greet(");

		const tools = "from snakepit_bridge import tool\nfrom part import Number\n";
		const again = prints("stdout", "Wrote out.ts.");
		writeFileSync(join(cwd, "part.py"), "Number = int\n");
		writeFileSync(
			join(cwd, "new.py"),
			`${tools}@tool\ndef twice(n: Number) -> None: ...\n`,
		);
		renameSync(join(cwd, "new.py"), join(cwd, "tools.py"));
		await again;
		expect(written()).toMatch(/twice\([^;]*n: number/);

		const failed = prints("stderr", "SyntaxError");
		writeFileSync(join(cwd, "part.py"), "Number = (\n");
		await failed;
		const last = prints("stdout", "Wrote out.ts.");
		writeFileSync(join(cwd, "part.py"), "Number = str\n");
		await last;
		expect(written()).toMatch(/twice\([^;]*n: string/);
		const end = once(child, "exit");
		child.kill("SIGTERM");
		expect(await end).toEqual([null, "SIGTERM"]);
	},
	DEADLINE_MS,
);
