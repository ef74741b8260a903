import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect, onTestFinished, test } from "vitest";
import { developmentPython } from "../../../../scripts/python-environment.ts";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { rows } from "../../../../scripts/test-effort.ts";
import { VERSION } from "../../src/gen/version.ts";
import {
	TEMPLATES,
	type TemplateName,
	TYPE_CHECK,
} from "../../src/init/init-command.ts";
import { SNAKEPIT_IN_NODE, snakepit } from "../run/started.ts";

const DEADLINE_MS = 120_000;
const TSC = join(
	dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
	"bin/tsc",
);
const [program, ...before] = SNAKEPIT_IN_NODE;
const FILES = [
	...[".gitignore", "README.md", "main.ts", "package.json"],
	...["tools.py", "tools.ts", "tsconfig.json"],
];

function init(cwd: string, ...args: readonly string[]) {
	return snakepit(["init", ...args], { cwd });
}

/** A new project, with the packages of this repository as they would be installed. */
function project(template: TemplateName): string {
	const cwd = temporaryDirectory();
	const made = init(cwd, "My Project", "--template", template);
	expect(made.status, made.stderr).toBe(0);
	const folder = join(cwd, "My Project");
	expect(readdirSync(folder).toSorted()).toEqual(FILES);
	const manifest = JSON.parse(
		readFileSync(join(folder, "package.json"), "utf8"),
	);
	expect(manifest).toMatchObject({ name: "my-project", type: "module" });
	const find = createRequire(import.meta.url);
	for (const [name, range] of Object.entries<string>({
		...manifest.dependencies,
		...manifest.devDependencies,
	})) {
		if (name.startsWith("@snakepit/")) expect(range).toBe(`^${VERSION}`);
		const path = join(folder, "node_modules", name);
		mkdirSync(dirname(path), { recursive: true });
		symlinkSync(directoryOf(find, name), path);
	}
	return folder;
}

/** Where a package is installed for the CLI. */
function directoryOf(find: NodeJS.Require, name: string): string {
	if (name === "@snakepit/cli") return join(import.meta.dirname, "../..");
	const found = find.resolve
		.paths(name)
		?.map((path) => join(path, name))
		.find((path) => existsSync(path));
	if (found === undefined) throw new Error(`${name} is not installed.`);
	return found;
}

/** Starts the program of a project, as `npm start` does. */
function start(folder: string): ChildProcess {
	const child = spawn(
		process.execPath,
		["--conditions=snakepit-source", "main.ts"],
		{
			cwd: folder,
			stdio: ["ignore", "pipe", "inherit"],
			env: environment(folder),
		},
	);
	onTestFinished(() => void child.kill("SIGKILL"));
	return child;
}

function environment(folder: string): Record<string, string> {
	return {
		...(process.env as Record<string, string>),
		VIRTUAL_ENV: dirname(dirname(developmentPython())),
		XDG_STATE_HOME: join(folder, ".state"),
		PORT: "0",
	};
}

async function linesOf({ stdout }: ChildProcess): Promise<readonly string[]> {
	if (stdout === null) return [];
	return await Array.fromAsync(createInterface({ input: stdout }));
}

test(
	"the plain project calls Python and ends",
	async () => {
		const child = start(project("plain"));
		const end = once(child, "exit");
		expect(await linesOf(child)).toEqual([
			...["[ 'Hello, Ada!', 'Hello, Ada!' ]", "0", "1", "4", "9"],
		]);
		expect(await end).toEqual([0, null]);
	},
	DEADLINE_MS,
);

test(
	"the Express project serves, says what a client did wrong, and ends on SIGTERM",
	async () => {
		const child = start(project("express"));
		if (child.stdout === null) throw new Error("It has no output.");
		const [line] = await once(createInterface({ input: child.stdout }), "line");
		const url = /http:\S+/.exec(line)?.[0] ?? "";
		const greeted = await fetch(`${url}/greet/Ada`);
		expect(await greeted.json()).toEqual(["Hello, Ada!"]);
		const mean = (numbers: unknown) =>
			fetch(`${url}/mean`, {
				method: "POST",
				headers: { "content-type": "application/json" },
				body: JSON.stringify({ numbers }),
			});
		expect(await (await mean([1, 2, 6])).json()).toBe(3);
		const wrong = await mean(["x"]);
		expect(wrong.status).toBe(400);
		expect(await wrong.json()).toMatchObject({
			error: expect.stringContaining("numbers"),
		});
		expect((await mean([])).status).toBe(500);
		const end = once(child, "exit");
		child.kill("SIGTERM");
		expect(await end).toEqual([0, null]);
	},
	DEADLINE_MS,
);

test(
	"the MCP project serves its tools, from the configuration in its README",
	async () => {
		const folder = project("mcp");
		const readme = readFileSync(join(folder, "README.md"), "utf8");
		const [, json = ""] = /```json\n(.*?)```/s.exec(readme) ?? [];
		const { args } = JSON.parse(json).mcpServers["my-project"];
		expect(args).toEqual([join(folder, "main.ts")]);
		const client = new Client({ name: "test", version: "1" });
		await client.connect(
			new StdioClientTransport({
				command: process.execPath,
				args: ["--conditions=snakepit-source", ...args],
				env: environment(folder),
				stderr: "inherit",
			}),
		);
		expect(
			await client.callTool({ name: "mean", arguments: { numbers: [1, 3] } }),
		).toMatchObject({ content: [{ text: "2" }] });
		await client.close();
	},
	DEADLINE_MS,
);

test.each(
	rows(Object.keys(TEMPLATES) as TemplateName[], (each) => each === "express"),
)(
	"the %s project has no errors of types",
	(template) => {
		const folder = project(template);
		const { status, stdout } = spawnSync(
			process.execPath,
			[TSC, "--customConditions", "snakepit-source"],
			{ cwd: folder, encoding: "utf8" },
		);
		expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
	},
	DEADLINE_MS,
);

test(
	"the Express project answers every request that it takes before and after SIGTERM",
	async () => {
		const child = start(project("express"));
		if (child.stdout === null) throw new Error("It has no output.");
		const [line] = await once(createInterface({ input: child.stdout }), "line");
		const url = /http:\S+/.exec(line)?.[0] ?? "";
		const end = once(child, "exit");
		const statuses: number[] = [];
		// Each keeps its connections and sends the next request at once, until none is taken any more.
		const client = async () => {
			for (;;) {
				const answer = await fetch(`${url}/greet/Ada`).catch(() => undefined);
				if (answer === undefined) return;
				statuses.push(answer.status);
				await answer.text();
				if (statuses.length === 200) child.kill("SIGTERM");
			}
		};
		await Promise.all(Array.from({ length: 16 }, client));
		expect(statuses.length).toBeGreaterThanOrEqual(200);
		expect(statuses.filter((status) => status !== 200)).toEqual([]);
		expect(await end).toEqual([0, null]);
	},
	DEADLINE_MS,
);

test("a folder that is not empty is left as it is", () => {
	const cwd = temporaryDirectory();
	writeFileSync(join(cwd, "tools.py"), "mine");
	const { status, stdout, stderr } = init(cwd);
	expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
	expect(stderr).toContain("is not empty (tools.py). Nothing was written.");
	expect(readdirSync(cwd)).toEqual(["tools.py"]);
	expect(readFileSync(join(cwd, "tools.py"), "utf8")).toBe("mine");
	rmSync(join(cwd, "tools.py"));
	mkdirSync(join(cwd, ".git"));
	expect(init(cwd).status).toBe(0);
	expect(readdirSync(cwd).toSorted()).toEqual([".git", ...FILES].toSorted());
});

test("an unknown template is a usage error", () => {
	const { status, stderr } = init(temporaryDirectory(), "--template", "react");
	expect(status).toBe(2);
	expect(stderr).toContain("plain, express, mcp");
});

test("the packages that templates ask for are those that they are tried with", () => {
	const path = new URL("../../package.json", import.meta.url);
	const { devDependencies } = JSON.parse(readFileSync(path, "utf8"));
	for (const wanted of Object.values(TEMPLATES))
		expect(devDependencies).toMatchObject({
			...wanted.dependencies,
			...wanted.devDependencies,
		});
	const root = new URL("../../../../package.json", import.meta.url);
	expect(JSON.parse(readFileSync(root, "utf8")).devDependencies).toMatchObject(
		TYPE_CHECK,
	);
});

test.each(["init folder", "types tools.py", "types module"])(
	"in a working directory that was removed, `snakepit %s` says what to do",
	(command) => {
		const cwd = temporaryDirectory();
		const { status, stderr } = spawnSync(
			"sh",
			[
				...["-c", 'rmdir "$PWD"; exec "$0" "$@"', program],
				...[...before, ...command.split(" ")],
			],
			{ cwd, encoding: "utf8" },
		);
		expect(status).toBe(1);
		expect(stderr).toMatch(/^snakepit: The .* was removed .* process\.chdir/);
		expect(stderr).not.toMatch(/uv_cwd|\n./);
	},
);
