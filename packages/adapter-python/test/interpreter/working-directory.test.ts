import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testPool } from "../../../../scripts/test-pool.ts";
import { python } from "../../src/index.ts";
import { chooseInterpreter } from "../../src/interpreter/choose-interpreter.ts";
import { inspectPython } from "../../src/interpreter/inspect-python.ts";
import { namedSource } from "../../src/interpreter/interpreter-sources.ts";
import { resolveOptions } from "../../src/resolve-options.ts";
import { failureOf } from "../support/calls.ts";
import { scratch } from "../support/fake-python.ts";
import { PYTHON } from "../support/pythons.ts";

/** A directory with files that are named like modules of Python, and note that they were run. */
function inTheWay(): { readonly cwd: string; readonly ran: () => string[] } {
	const cwd = scratch();
	const names =
		"json types operator re enum glob errno os io runpy importlib pkgutil traceback socket select threading typing ctypes msgpack";
	for (const name of names.split(" "))
		writeFileSync(
			join(cwd, `${name}.py`),
			`open(${JSON.stringify(cwd)} + "/ran-${name}", "w").close()\nraise ImportError("planted")\n`,
		);
	const ran = () => readdirSync(cwd).filter((name) => name.startsWith("ran-"));
	return { cwd, ran };
}

test("files in the working directory that are named like modules of Python are not run, and no Python is unusable for them", async () => {
	const { cwd, ran } = inTheWay();
	const setting = { env: process.env, cwd };
	const sources = [namedSource(PYTHON, "a test names it", setting)];
	const { signal } = new AbortController();
	expect(await chooseInterpreter(sources, setting, signal)).toMatchObject({
		program: PYTHON,
	});
	const options = resolveOptions({ tools: "tools.py" });
	expect(await inspectPython(sources, setting, options)).toMatchObject({
		status: "available",
	});
	expect(ran()).toEqual([]);
});

test("nor by a worker that starts there", async () => {
	const { cwd, ran } = inTheWay();
	// Beside the planted files there are none of its own: a file's neighbours are its business.
	const tools = join(scratch(), "tools.py");
	writeFileSync(
		tools,
		"from snakepit_bridge import tool\n@tool\ndef one() -> int:\n    return 1\n",
	);
	const adapter = python({ tools, python: PYTHON, cwd });
	const { pool } = await testPool({ adapter });
	expect(await pool.execute("one")).toBe(1);
	expect(ran()).toEqual([]);
});

test("a directory of PYTHONPATH with such files is named as what to change", async () => {
	const { cwd } = inTheWay();
	const env = { ...process.env, PYTHONPATH: cwd };
	const setting = { env, cwd: "/" };
	const sources = [namedSource(PYTHON, "a test names it", setting)];
	const { signal } = new AbortController();
	const failure = await failureOf(chooseInterpreter(sources, setting, signal));
	expect(failure).toMatchObject({
		code: "PYTHON_UNUSABLE",
		message: expect.stringContaining(
			`Rename what has the name of a module of Python in PYTHONPATH (${cwd})`,
		),
	});
});
