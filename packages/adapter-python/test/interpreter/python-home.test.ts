import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { developmentPython } from "../../../../scripts/python-environment.ts";
import { chooseInterpreter } from "../../src/interpreter/choose-interpreter.ts";
import { namedSource } from "../../src/interpreter/interpreter-sources.ts";
import { failureOf } from "../support/calls.ts";
import { scratch } from "../support/fake-python.ts";

const python = developmentPython();
const [library = "", compiled] = execFileSync(
	python,
	[
		"-c",
		"import os, sys; print(os.path.dirname(os.__file__)); print('fcntl' not in sys.builtin_module_names)",
	],
	{ encoding: "utf8" },
).split("\n");

test.runIf(compiled === "True")(
	"a PYTHONHOME whose library lacks what this Python needs is an error that says to leave it out",
	async () => {
		const home = scratch();
		const copy = join(home, "lib", basename(library));
		mkdirSync(copy, { recursive: true });
		for (const name of readdirSync(library))
			if (name !== "lib-dynload")
				symlinkSync(join(library, name), join(copy, name));
		const env = { ...process.env, PYTHONHOME: home };
		const { signal } = new AbortController();
		const setting = { env, cwd: home };
		const sources = [namedSource(python, "the test names it", setting)];
		const error = await failureOf(chooseInterpreter(sources, setting, signal));
		expect(error).toMatchObject({
			code: "PYTHON_UNUSABLE",
			message: expect.stringContaining(`Leave PYTHONHOME (${home}) out`),
		});
	},
);
