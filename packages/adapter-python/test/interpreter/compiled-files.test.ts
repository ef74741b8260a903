import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compileNotes } from "../../src/interpreter/choose-interpreter.ts";
import { probeInterpreter } from "../../src/interpreter/probe.ts";
import { scratch } from "../support/fake-python.ts";
import { PYTHON } from "../support/pythons.ts";

/** A bridge that was never imported, and the notes of a Python that finds it. */
function bridge(variables: Readonly<Record<string, string>>): {
	readonly file: string;
	readonly notes: () => Promise<readonly string[]>;
} {
	const root = scratch();
	const file = join(root, "snakepit_bridge/__init__.py");
	mkdirSync(join(root, "snakepit_bridge"));
	writeFileSync(file, "");
	const env = { PATH: process.env["PATH"], PYTHONPATH: root, ...variables };
	const notes = async (): Promise<readonly string[]> => {
		const { signal } = new AbortController();
		const facts = await probeInterpreter(PYTHON, { env, cwd: root, signal });
		if (typeof facts === "string") throw new Error(facts);
		return compileNotes({ program: PYTHON, ...facts });
	};
	return { file, notes };
}

test("where Python may not keep compiled files and there are none, a note says so, and what to do", async () => {
	const { file, notes } = bridge({ PYTHONDONTWRITEBYTECODE: "1" });
	expect(await notes()).toEqual([
		expect.stringMatching(/PYTHONDONTWRITEBYTECODE is set.*compileall/),
	]);
	execFileSync(PYTHON, ["-m", "py_compile", file]);
	expect(await notes()).toEqual([]);
});

test("where Python may keep them, there is nothing to say", async () => {
	expect(await bridge({}).notes()).toEqual([]);
});

test.skipIf(process.getuid?.() === 0)(
	"a directory that this user may not write to is named",
	async () => {
		const { file, notes } = bridge({});
		execFileSync("chmod", ["a-w", join(file, "..")]);
		expect(await notes()).toEqual([
			expect.stringContaining(`this user may not write to ${join(file, "..")}`),
		]);
	},
);
