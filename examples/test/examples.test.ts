// Every example does what its page says: it prints what is there, its snippets are parts of its files, and its types are
// those of its tools.
import { execFile, spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { tablesPython } from "../../scripts/tables-python.ts";
import { temporaryDirectory } from "../../scripts/test-data-directory.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const contents = (pattern: string): string =>
	globSync(pattern, { cwd: root }).map(read).join("\n");
const snippets = (page: string): readonly string[] =>
	[...read(page).matchAll(/^```(?:ts|python)\n([\s\S]*?)^```$/gm)].map(
		([, code = ""]) => code,
	);

const development = join(root, "python/.venv/bin/python");
const python = (module: string): string | undefined =>
	spawnSync(development, ["-c", `import ${module}`]).status === 0
		? development
		: undefined;
const withTables = tablesPython();

/** Runs a program as its page does, with an interpreter that has what it needs. */
async function run(program: string, args: readonly string[]): Promise<string> {
	const { stdout } = await promisify(execFile)(
		process.execPath,
		["--conditions=snakepit-source", program, ...args],
		{
			cwd: root,
			env: { ...process.env, XDG_STATE_HOME: temporaryDirectory() },
		},
	);
	return stdout;
}

describe("a program prints what its page states, and ends by itself:", () => {
	test.each([
		{ name: "token-stream", needs: development },
		{ name: "typed-tools", needs: python("pydantic") },
		{ name: "pandas-job", needs: withTables },
	])("$name", async ({ name, needs }) => {
		if (needs === undefined) return console.warn(`${name} is not run here.`);
		const output = await run(`examples/${name}/src/main.ts`, [needs]);
		expect(output).not.toBe("");
		expect(read(`examples/${name}/README.md`)).toContain(
			`\`\`\`\n${output}\`\`\`\n`,
		);
	});

	test("gpu-slots", async () => {
		const program = "examples/gpu-slots/src/main.ts";
		const of = (devices: string) =>
			run(program, ["--devices", devices, "--python", development]);
		const page = read("examples/gpu-slots/README.md");
		expect(page).toContain(await of("GPU-a,GPU-b"));
		const { code, stderr } = await of("GPU-a").catch((error) => error);
		expect(code).toBe(1);
		expect(page).toContain(stderr);
	});
});

test("each cell of the notebook uses the objects that the cells before have made", async () => {
	const output = await run("examples/notebook/src/main.ts", []);
	expect(output.trim().split("\n")).toEqual([
		...["changes: 4", "10 31", "11 34", "a model.Line"],
		...["at noon: [ 37 ]", "slope: 3.00", "at 13: 40"],
	]);
});

test("the program with a custom adapter counts the words of every sentence", async () => {
	const output = await run("examples/custom-adapter/src/main.ts", []);
	expect(output.trim().split("\n")).toEqual([
		'The pool owns the process. {"the":2,"pool":1,"owns":1,"process":1}',
		'The adapter owns the conversation. {"the":2,"adapter":1,"owns":1,"conversation":1}',
		'Who kills? {"who":1,"kills":1}',
		'The pool! {"the":1,"pool":1}',
	]);
});

const pages = globSync("examples/*/README.md", { cwd: root }).filter(
	(page) => snippets(page).length > 0,
);
test.each(pages)("the snippets of %s are parts of its files", (page) => {
	const sources = contents(`${dirname(page)}/{src/*.ts,*.py}`);
	for (const code of snippets(page)) expect(sources).toContain(code);
});

test("the snippets of writing-an-adapter.md are parts of the examples", () => {
	const sources = contents(
		"examples/{custom-adapter,chromium}/{src,test}/*.ts",
	);
	const all = snippets("docs/writing-an-adapter.md");
	expect(all.length).toBeGreaterThan(4);
	for (const code of all) expect(sources).toContain(code);
});

test("the adapters have as many lines as the pages state", () => {
	const lines = (pattern: string): number =>
		globSync(pattern, { cwd: root })
			.map((file) => read(file).split("\n").length - 1)
			.reduce((sum, count) => sum + count, 0);
	const custom = lines("examples/custom-adapter/src/json-rpc-*.ts");
	const chromium = lines("examples/chromium/src/chromium-adapter.ts");
	for (const page of ["docs/writing-an-adapter.md", "packages/core/README.md"])
		expect(read(page)).toMatch(new RegExp(`\\b${custom} lines\\b`));
	expect(read("examples/chromium/README.md")).toContain(
		`has ${chromium} lines`,
	);
});

test.each(globSync("examples/*/src/gen/*.ts", { cwd: root }))(
	"%s has the types of the tools",
	(types) => {
		const example = types.slice(0, types.indexOf("/src/"));
		const tools = globSync(`${example}/{,src/}*.py`, { cwd: root }).find(
			(file) => read(types).includes(`types ${file.split("/").at(-1)}\``),
		);
		const needs = example.endsWith("pandas-job") ? withTables : development;
		if (needs === undefined || !existsSync(join(root, tools ?? "")))
			return console.warn(`${types} is not checked here.`);
		const { status, stderr } = spawnSync(
			needs,
			["-m", "snakepit_bridge", "types", tools ?? "", "--check", types],
			{ cwd: root, encoding: "utf8" },
		);
		expect(stderr).toBe("");
		expect(status).toBe(0);
	},
);
