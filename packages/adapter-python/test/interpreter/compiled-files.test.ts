import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { VERSION } from "../../src/gen/version.ts";
import { python } from "../../src/index.ts";
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

test("files that are kept elsewhere are looked for there", async () => {
	const elsewhere = scratch();
	const variables = { PYTHONPYCACHEPREFIX: elsewhere };
	expect(await bridge(variables).notes()).toEqual([]);
	expect(
		await bridge({ ...variables, PYTHONDONTWRITEBYTECODE: "1" }).notes(),
	).toEqual([expect.stringMatching(/PYTHONDONTWRITEBYTECODE/)]);
});

test.each([
	{ kept: "nothing", files: [], compiled: ["bridge", "tools"] },
	{ kept: "the bridge", files: ["bridge"], compiled: ["tools"] },
	{ kept: "all", files: ["bridge", "tools"], compiled: [] },
] as const)(
	"the doctor says what each start compiles anew: of the bridge and the tools, $kept is kept",
	async ({ files, compiled }) => {
		const root = scratch();
		const sources = {
			bridge: join(root, "snakepit_bridge/__init__.py"),
			tools: join(root, "tools.py"),
		};
		mkdirSync(join(root, "snakepit_bridge"));
		writeFileSync(sources.bridge, "");
		writeFileSync(
			join(root, "snakepit_bridge/_version.py"),
			`__version__ = "${VERSION}"\n`,
		);
		writeFileSync(sources.tools, "");
		for (const each of files)
			execFileSync(PYTHON, ["-m", "py_compile", sources[each]]);
		const adapter = python({
			tools: sources.tools,
			python: PYTHON,
			env: { PYTHONPATH: root, PYTHONDONTWRITEBYTECODE: "1" },
		});
		const report = await adapter.inspect?.();
		expect(report).toMatchObject({ layer: "python", status: "available" });
		if (compiled.length === 0) {
			expect(report?.detail).toMatch(/It keeps what it compiles\.$/);
			expect(report?.remedy).toBe(undefined);
			return;
		}
		const places = compiled.map((each) => dirname(sources[each]));
		expect(report?.detail).toContain(
			`compiles ${places.join(" and ")} again, which makes it slower: there are no compiled files, and PYTHONDONTWRITEBYTECODE is set.`,
		);
		// What it says helps.
		const command = / as a user who may write there: (.*)$/.exec(
			report?.remedy ?? "",
		)?.[1];
		execFileSync("sh", ["-c", command ?? ""]);
		expect((await adapter.inspect?.())?.remedy).toBe(undefined);
	},
);

test("the doctor says why there would be no worker", async () => {
	const adapter = python({ tools: "tools.py", python: "/nowhere/python" });
	await expect(adapter.inspect?.()).rejects.toMatchObject({
		code: "PYTHON_UNUSABLE",
	});
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
