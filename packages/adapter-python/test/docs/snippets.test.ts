import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
	afterAll,
	beforeAll,
	describe,
	expect,
	onTestFinished,
	test,
} from "vitest";
import { isThorough, rows } from "../../../../scripts/test-effort.ts";
import { PYTHON } from "../support/pythons.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const own = fileURLToPath(
	new URL("../../../adapter-grpc-python", import.meta.url),
);

const TSC = join(root, "node_modules/.bin/tsc");
const COMPILER = {
	extends: "../../../tsconfig.base.json",
	compilerOptions: {
		noEmit: true,
		customConditions: ["snakepit-source"],
		declaration: false,
		declarationMap: false,
		isolatedDeclarations: false,
	},
};
/** What a page says to type before its programs can run. */
const MAKES_TYPES = /^python (-m snakepit_bridge types .*)$/gm;

/** A fenced block whose first line names its file is part of a program. */
const BLOCK =
	/^```(?:ts|py)(?: packed)?\n(?:\/\/|#) (\S+\.(?:ts|py))\n(.*?)^```$/gms;

const PAGES = rows(
	[
		"README.md",
		"docs/quickstart.md",
		"docs/calling.md",
		"docs/existing-code.md",
		"docs/operating.md",
		"docs/development.md",
		"packages/adapter-python/README.md",
		"packages/adapter-grpc-python/README.md",
	],
	(page) => page === "README.md" || page === "docs/quickstart.md",
);

// Compiled at once, for most of what the compiler reads is the same for all.
describe("the programs", () => {
	const directories = new Map<string, string>();
	beforeAll(async () => {
		for (const page of PAGES) {
			const directory = newDirectory(page);
			directories.set(page, directory);
			const pageText = readFileSync(join(root, page), "utf8");
			for (const [, name = "", text = ""] of pageText.matchAll(BLOCK))
				writeFileSync(join(directory, name), text);
			for (const [, words = ""] of pageText.matchAll(MAKES_TYPES))
				await promisify(execFile)(PYTHON, words.split(" "), { cwd: directory });
		}
	});
	afterAll(() => {
		for (const directory of directories.values()) remove(directory);
	});

	test.runIf(isThorough())(
		"on these pages compile",
		{ timeout: 120_000 },
		() => {
			const all = newDirectory("pages");
			onTestFinished(() => remove(all));
			const programs = PAGES.flatMap((page) =>
				programsOf(page).map(([, name = ""]) =>
					join(directories.get(page) ?? "", name),
				),
			);
			expect(programs.length).toBeGreaterThanOrEqual(PAGES.length);
			expectToCompile(all, programs);
		},
	);

	test.each(PAGES)(
		"in %s run and print what their comments say",
		{ timeout: 120_000 },
		async (page) => {
			const programs = programsOf(page);
			expect(programs.length).toBeGreaterThan(0);
			for (const [, name = "", text = ""] of programs) {
				const { stdout } = await promisify(execFile)(
					process.execPath,
					["--conditions=snakepit-source", name],
					{
						cwd: directories.get(page),
						env: { ...process.env, VIRTUAL_ENV: join(root, "python/.venv") },
					},
				);
				const words = stdout.split(/\s+/).join(" ");
				const promised = [
					...text.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm),
				].map(([, comment]) => comment ?? "");
				for (const comment of promised) expect(words).toContain(comment);
			}
		},
	);
});

const REPORTS_AFTER_3_S = `import time

from snakepit_bridge import tool


@tool
def report() -> str:
    print("begun")
    time.sleep(3)
    return "reported"
`;

const AROUND_A_SERVER = (server: string): string => `
import { createPool } from "@snakepit/core";
import { python } from "@snakepit/adapter-python";

const adapter = python({ python: ${JSON.stringify(PYTHON)}, tools: "tools.py" });
const requests = setInterval(() => {}, 60_000);
const lastRequest = async () => {
	console.log(await pool.execute("last"));
	clearInterval(requests);
};
${server}
process.kill(process.pid, "SIGTERM");
`;

/** A program of a page that runs, and its end. */
function started(directory: string, name: string, stderr: "pipe" | "inherit") {
	const program = spawn(
		process.execPath,
		["--conditions=snakepit-source", name],
		{
			cwd: directory,
			env: {
				...process.env,
				VIRTUAL_ENV: join(root, "python/.venv"),
				XDG_STATE_HOME: directory,
			},
			stdio: ["ignore", "pipe", stderr],
		},
	);
	onTestFinished(() => void program.kill("SIGKILL"));
	return { program, ended: once(program, "exit") };
}

/** The program with this number on docs/deployment.md, compiled, and tools whose one call takes 3 s. */
function deployed(number: number) {
	const page = "docs/deployment.md";
	const directory = snippetDirectory(page);
	const text = readFileSync(join(root, page), "utf8");
	const [, name = "", code = ""] = [...text.matchAll(BLOCK)][number] ?? [];
	writeFileSync(join(directory, name), code);
	writeFileSync(join(directory, "tools.py"), REPORTS_AFTER_3_S);
	expectToCompile(directory, [name]);
	return { directory, name };
}

test("the server in packages/core/README.md answers its last request after SIGTERM, and ends", {
	timeout: 120_000,
}, async () => {
	const page = "packages/core/README.md";
	const directory = snippetDirectory(page);
	const [, server] =
		/^```ts\n([^`]*"ignore".*?)^```$/ms.exec(
			readFileSync(join(root, page), "utf8"),
		) ?? [];
	writeFileSync(join(directory, "server.ts"), AROUND_A_SERVER(server ?? ""));
	writeFileSync(
		join(directory, "tools.py"),
		"from snakepit_bridge import tool\n\n\n@tool\ndef last() -> str:\n    return 'answered'\n",
	);
	const { program, ended } = started(directory, "server.ts", "inherit");
	expect(await textOf(program.stdout as Readable)).toContain("answered");
	expect(await ended).toEqual([0, null]);
});

test.runIf(isThorough())(
	"the server in docs/deployment.md answers a request that takes longer than 2 s after SIGTERM, and ends",
	{
		timeout: 120_000,
	},
	async () => {
		const { directory, name } = deployed(0);
		const { program, ended } = started(directory, name, "pipe");
		const [port] = await once(program.stdout as Readable, "data");
		const answer = fetch(`http://127.0.0.1:${String(port).trim()}`);
		await untilPrinted(program.stderr as Readable, "begun");
		program.kill("SIGTERM");
		expect(await (await answer).text()).toBe("reported");
		expect(await ended).toEqual([0, null]);
	},
);

test.runIf(isThorough())(
	"the program in docs/deployment.md is ready, and says so by HTTP",
	{ timeout: 120_000 },
	async () => {
		const { directory, name } = deployed(1);
		expect(name).toBe("probes.ts");
		const { program, ended } = started(directory, name, "inherit");
		const printed: string[] = [];
		const output = program.stdout as Readable;
		for await (const line of createInterface({ input: output })) {
			printed.push(line);
			if (printed.length === 3) break;
		}
		const [port, ...lines] = printed;
		expect(lines).toEqual([
			"{ live: true, ready: true, reasons: [] }",
			"[ 'PAUSED' ]",
		]);
		const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
		expect(answer.status).toBe(200);
		program.kill("SIGTERM");
		expect(await ended).toEqual([0, null]);
	},
);

test("the tests in packages/core/README.md pass", {
	timeout: 60_000,
}, async () => {
	const page = "packages/core/README.md";
	const directory = snippetDirectory(page);
	const text = readFileSync(join(root, page), "utf8");
	const name = "report.test.ts";
	const block = [...text.matchAll(BLOCK)].find(([, own]) => own === name);
	const code = block?.[2] ?? "";
	writeFileSync(join(directory, name), code);
	const { NODE_TEST_CONTEXT: _, ...env } = process.env;
	const { stdout } = await promisify(execFile)(
		process.execPath,
		["--conditions=snakepit-source", "--test", "--test-reporter=tap", name],
		{ cwd: directory, env },
	);
	expect(stdout).toMatch(/^# pass 2$/m);
});

function expectToCompile(directory: string, files: readonly string[]): void {
	writeFileSync(
		join(directory, "tsconfig.json"),
		JSON.stringify({ ...COMPILER, files }),
	);
	const compiled = spawnSync(TSC, ["-p", directory], { encoding: "utf8" });
	expect(compiled.stdout).toBe("");
	expect(compiled.status).toBe(0);
}

async function untilPrinted(output: Readable, text: string): Promise<void> {
	let printed = "";
	for await (const chunk of output.iterator({ destroyOnReturn: false })) {
		printed += String(chunk);
		if (printed.includes(text)) return;
	}
	throw new Error(`The output ended without "${text}": ${printed}`);
}

/** The blocks of a page that are TypeScript. */
function programsOf(page: string): readonly RegExpExecArray[] {
	const text = readFileSync(join(root, page), "utf8");
	return [...text.matchAll(BLOCK)].filter(([, name]) => name?.endsWith(".ts"));
}

/** Inside the package, so that imports resolve as a user's would. */
function newDirectory(page: string): string {
	const directory = join(own, `.snippets-${basename(page)}-${page.length}`);
	remove(directory);
	mkdirSync(directory);
	return directory;
}

/** A new directory that goes with the test. */
function snippetDirectory(page: string): string {
	const directory = newDirectory(page);
	onTestFinished(() => remove(directory));
	return directory;
}

function remove(directory: string): void {
	rmSync(directory, { recursive: true, force: true });
}
