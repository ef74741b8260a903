import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isThorough } from "../../../../scripts/test-effort.ts";
import { answering, ToolsProject } from "./tools-project.ts";

/** Several starts of Python one after the other, on a busy machine. */
const TIMEOUT_MS = 90_000;

const slow = `import os
import time

from helper import NUMBER
from snakepit_bridge import tool


@tool
def answer() -> int:
    return NUMBER


@tool
def wait_for(path: str) -> int:
    while not os.path.exists(path):
        time.sleep(0.02)
    return NUMBER


@tool
def lazily() -> int:
    from late import VALUE

    return VALUE
`;

test("a module that tools.py imports is saved: calls get what it says now, and the call under way what it said", {
	timeout: TIMEOUT_MS,
}, async () => {
	const project = new ToolsProject();
	project.save("helper.py", "NUMBER = 1\n");
	project.save("tools.py", slow);
	const { pool, events } = await project.pool();
	const gate = join(project.root, "gate");
	const underWay = pool.execute("wait_for", { path: gate });
	expect(await pool.execute("answer")).toBe(1);
	project.replace("helper.py", "NUMBER = 2\n");
	const { files } = await events.nth("pool.reloaded", 1);
	expect(files).toEqual([join(project.root, "helper.py")]);
	expect(await pool.execute("answer")).toBe(2);
	project.save("helper.py", "NUMBER = 3\n");
	await events.nth("pool.reloaded", 2);
	expect(await pool.execute("answer")).toBe(3);
	project.save("gate", "");
	expect(await underWay).toBe(1);
	expect(
		events.of("worker.exited").every(({ callsLost }) => callsLost === 0),
	).toBe(true);
});

test("a syntax error keeps the workers, is said once, and the save that mends it counts", {
	timeout: TIMEOUT_MS,
}, async () => {
	const project = new ToolsProject();
	project.save("tools.py", answering(1));
	const { pool, events } = await project.pool();
	const before = pool.workers().map(({ pid }) => pid);
	project.save("tools.py", "def answer(:\n");
	const failed = await events.nth("pool.reload_failed", 1);
	expect(failed.error).toMatchObject({
		code: "TOOLS_IMPORT_FAILED",
		message: expect.stringContaining("SyntaxError"),
	});
	expect(pool.workers().map(({ pid }) => pid)).toEqual(before);
	expect(await pool.execute("answer")).toBe(1);
	project.save("tools.py", answering(2));
	await events.nth("pool.reloaded", 1);
	expect(await pool.execute("answer")).toBe(2);
	expect(events.of("pool.reload_failed")).toHaveLength(1);
});

test("an import that is not there yet is found when its directory appears", {
	timeout: TIMEOUT_MS,
}, async () => {
	const project = new ToolsProject();
	project.save("tools.py", answering(1));
	const { pool, events } = await project.pool({}, { size: 1 });
	project.save(
		"tools.py",
		`from parts.inner.numbers import VALUE\n${answering("VALUE")}`,
	);
	await events.nth("pool.reload_failed", 1);
	mkdirSync(join(project.root, "unseen"));
	project.save("unseen/inner/numbers.py", "VALUE = 5\n");
	renameSync(join(project.root, "unseen"), join(project.root, "parts"));
	await events.nth("pool.reloaded", 1);
	expect(await pool.execute("answer")).toBe(5);
	// A checkout puts another directory in its place.
	project.save("other/inner/numbers.py", "VALUE = 6\n");
	renameSync(join(project.root, "parts"), join(project.root, "old"));
	renameSync(join(project.root, "other"), join(project.root, "parts"));
	for (let n = 2; (await pool.execute("answer")) !== 6; n++)
		await events.nth("pool.reloaded", n);
	project.save("parts/inner/numbers.py", "VALUE = 7\n");
	const count = events.of("pool.reloaded").length;
	await events.nth("pool.reloaded", count + 1);
	expect(await pool.execute("answer")).toBe(7);
});

test.runIf(isThorough())(
	"a module that a tool imports in a call is watched from then on, and one that nobody imports is not",
	{
		timeout: TIMEOUT_MS,
	},
	async () => {
		const project = new ToolsProject();
		project.save("helper.py", "NUMBER = 1\n");
		project.save("late.py", "VALUE = 1\n");
		project.save("tools.py", slow);
		const { pool, events } = await project.pool({}, { size: 1 });
		expect(await pool.execute("lazily")).toBe(1);
		project.save("nobody.py", "VALUE = 1\n");
		project.save("late.py", "VALUE = 2\n");
		const { files } = await events.nth("pool.reloaded", 1);
		expect(files).toEqual([join(project.root, "late.py")]);
		expect(await pool.execute("lazily")).toBe(2);
	},
);

test.runIf(process.platform === "linux")(
	"a preloaded parent that has the tools is renewed with them, and the old one ends with its workers",
	{ timeout: TIMEOUT_MS },
	async () => {
		const project = new ToolsProject();
		project.save("tools.py", answering(1));
		const { pool, events } = await project.pool({ preload: "tools" });
		expect(await pool.execute("answer")).toBe(1);
		project.save("tools.py", answering("1 / 0 + +"));
		await events.nth("pool.reload_failed", 1);
		expect(await pool.execute("answer")).toBe(1);
		project.save("tools.py", answering(2));
		await events.nth("pool.reloaded", 1);
		expect(await pool.execute("answer")).toBe(2);
		const [first, second] = events.of("preload.started");
		const ended = await events.nth("preload.ended", 1);
		expect(ended).toMatchObject({ pid: first?.pid, how: "released" });
		expect(second?.pid).not.toBe(first?.pid);
		expect(events.of("preload.started")).toHaveLength(2);
	},
);

test("the TypeScript types are written at the start and with each reload, as they were made first", {
	timeout: TIMEOUT_MS,
}, async () => {
	const project = new ToolsProject();
	const types = join(project.root, "tools.ts");
	project.save("tools.py", answering(1));
	project.save(
		"tools.ts",
		"// Made by `python -m snakepit_bridge types tools.py --safe-integers`.\n",
	);
	project.save(
		"more/legacy.py",
		"def twice(n: int) -> int:\n    return 2 * n\n",
	);
	const { pool, events } = await project.pool(
		{
			tools: [
				{ file: project.tools },
				{ module: "math", expose: ["sqrt"] },
				{ file: join(project.root, "more/legacy.py"), expose: ["twice"] },
			],
			watch: { types },
		},
		{ size: 1 },
	);
	// A call is answered after its worker has written.
	expect(await pool.execute("twice", [4])).toBe(8);
	const first = readFileSync(types, "utf8");
	expect(first).toContain("answer(): number;");
	expect(first).toContain("types tools.py math:sqrt legacy.py:twice --safe");
	expect(first).toMatch(/^ {2}sqrt\(/m);
	expect(first).toMatch(/^ {2}twice\([^;]*n: number/m);
	project.save("tools.py", answering(1).replace("-> int", "-> bool"));
	await events.nth("pool.reloaded", 1);
	await pool.execute("answer");
	expect(readFileSync(types, "utf8")).toContain("answer(): boolean;");
	project.save(
		"more/legacy.py",
		"def twice(n: str) -> str:\n    return 2 * n\n",
	);
	await events.nth("pool.reloaded", 2);
	expect(await pool.execute("twice", ["a"])).toBe("aa");
	expect(readFileSync(types, "utf8")).toMatch(/^ {2}twice\([^;]*n: string/m);
});

test.runIf(isThorough())(
	"without watch nothing is watched or written",
	{
		timeout: TIMEOUT_MS,
	},
	async () => {
		const project = new ToolsProject();
		project.save("tools.py", answering(1));
		const { pool, events } = await project.pool({ watch: false }, { size: 1 });
		const { pool: watching, events: seen } = await project.pool();
		project.save("tools.py", answering(2));
		await seen.nth("pool.reloaded", 1);
		expect(await watching.execute("answer")).toBe(2);
		expect(await pool.execute("answer")).toBe(1);
		expect(events.of("pool.reloaded")).toEqual([]);
		expect(existsSync(join(project.root, "tools.ts"))).toBe(false);
	},
);
