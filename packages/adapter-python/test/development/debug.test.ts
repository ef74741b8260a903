import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ToolError } from "@snakepit/core";
import { SystemProcessHost } from "@snakepit/core/infrastructure";
import { expect, test } from "vitest";
import { markedHost } from "../../../../scripts/marked-host.ts";
import { isThorough, rows } from "../../../../scripts/test-effort.ts";
import { PYTHON } from "../support/pythons.ts";
import { DebugClient } from "./debug-client.ts";
import { Person } from "./person.ts";
import { ToolsProject } from "./tools-project.ts";

/** Several starts of Python one after the other, on a busy machine. */
const TIMEOUT_MS = 90_000;
const program = fileURLToPath(
	new URL("../programs/debugged-host.ts", import.meta.url),
);

const stopping = `from snakepit_bridge import tool


@tool
def mean(numbers: list[float]) -> float:
    total = sum(numbers)
    breakpoint()
    return total / len(numbers)


@tool
async def twice(value: int) -> int:
    breakpoint()
    double = value * 2
    breakpoint()
    return double
`;

/** Before Python 3.13, pdb stops at the next line. */
const STOPPED = /tools\.py\([78]\)mean\(\)/;

function stoppingProject(): ToolsProject {
	const project = new ToolsProject();
	project.save("tools.py", stopping);
	return project;
}

/** As the line on standard error says. */
const ATTACH = /attach (\/\S+)$/;
const attach = (path = ""): Person =>
	new Person(PYTHON, ["-m", "snakepit_bridge", "attach", path]);

test("a call that stops at a breakpoint() passes its deadlines, is looked at from another terminal and goes on", {
	timeout: TIMEOUT_MS,
}, async () => {
	const { pool, events } = await stoppingProject().pool(
		{ debug: "socket" },
		{ size: 3, heartbeat: { intervalMs: 10, hungAfterMs: 10 } },
	);
	expect(pool.workers()).toHaveLength(1);
	const call = pool.execute("mean", { numbers: [1, 2, 6] }, { timeoutMs: 1 });
	const [, path] = await events.line(ATTACH);
	const person = attach(path);
	expect(await person.reads("(Pdb) ")).toMatch(STOPPED);
	person.types("p numbers\n");
	expect(await person.reads("(Pdb) ")).toBe("[1.0, 2.0, 6.0]\n(Pdb) ");
	person.types("!total = 30\ncontinue\n");
	expect(await call).toBe(10);
});

test("when a person disconnects, the call continues to the next breakpoint(), which waits for another person; q fails the call", {
	timeout: TIMEOUT_MS,
}, async () => {
	const { pool, events } = await stoppingProject().pool({ debug: "socket" });
	const call = pool.execute("twice", { value: 4 });
	const first = attach((await events.line(ATTACH))[1]);
	await first.reads("(Pdb) ");
	first.leaves();
	expect(await first.ended).toBe(0);
	const second = attach((await events.line(ATTACH, 2))[1]);
	await second.reads("(Pdb) ");
	second.types("p double\nc\n");
	await second.reads("8\n");
	expect(await call).toBe(8);
	const refused = pool.execute("twice", { value: 4 });
	await second.reads("(Pdb) ");
	second.types("q\n");
	await expect(refused).rejects.toThrow("BdbQuit");
	expect(events.of("worker.spawned")).toHaveLength(1);
	await pool.close();
	expect(await second.ended).toBe(0);
});

test.runIf(isThorough())(
	"a save leaves a call that has stopped where it is, in the old worker, while the new one takes the next calls",
	{ timeout: TIMEOUT_MS },
	async () => {
		const project = stoppingProject();
		const { pool, events } = await project.pool({ debug: "socket" });
		const stopped = pool.execute("mean", { numbers: [1, 2, 6] });
		const [, path] = await events.line(ATTACH);
		project.save("tools.py", stopping.replaceAll("breakpoint()", "pass"));
		await events.nth("pool.reloaded", 1);
		expect(await pool.execute("mean", { numbers: [5] })).toBe(5);
		const person = attach(path);
		await person.reads("(Pdb) ");
		person.types("!total = 30\nc\n");
		expect(await stopped).toBe(10);
	},
);

const withTerminal = (project: ToolsProject): Person =>
	new Person(PYTHON, [
		...["-c", "import pty, sys; pty.spawn(sys.argv[1:])"],
		...[process.execPath, "--conditions=snakepit-source", program],
		...[project.tools, PYTHON, join(project.root, "ledger"), "true"],
	]);

test("in a terminal, pdb prompts there, and the program ends as usual", {
	timeout: TIMEOUT_MS,
}, async () => {
	const person = withTerminal(stoppingProject());
	expect(await person.reads("(Pdb) ")).toMatch(STOPPED);
	person.types("p total\n");
	expect(await person.reads("(Pdb) ")).toContain("9.0");
	person.types("c\n");
	await person.reads("The mean is 3.");
	expect(await person.ended).toBe(0);
});

test("Ctrl-C in a terminal ends the program and the worker that it debugs", {
	timeout: TIMEOUT_MS,
}, async () => {
	const person = withTerminal(stoppingProject());
	const [, pid] = /worker (\d+)/.exec(await person.reads("(Pdb) ")) ?? [];
	person.types("\u0003");
	await person.ended;
	const machine = new SystemProcessHost();
	await expect
		.poll(() => machine.observe(Number(pid)), { timeout: TIMEOUT_MS / 3 })
		.toBe("gone");
});

test("an editor attaches through debugpy: at its own breakpoints and at breakpoint(), where the call waits for it", {
	timeout: TIMEOUT_MS,
}, async () => {
	const project = stoppingProject();
	const { pool, events } = await project.pool({ debug: "debugpy" });
	const call = () =>
		pool.execute("mean", { numbers: [1, 2, 6] }, { timeoutMs: 1 });
	const first = call();
	await events.line(/waits for an editor/);
	const [, port] = await events.line(/debugpy listens on 127.0.0.1:(\d+),/);
	const editor = new DebugClient(Number(port));
	await editor.attach(project.tools, [6]);
	const stopsAt = async (line: number, expression: string, result: string) => {
		const { threadId, frame } = await editor.stopped();
		expect(frame).toMatchObject({ name: "mean", line });
		const value = { expression, frameId: frame.id };
		expect(await editor.asks("evaluate", value)).toMatchObject({ result });
		await editor.asks("continue", { threadId });
	};
	// debugpy stops at the line after breakpoint().
	await stopsAt(8, "total", "9.0");
	expect(await first).toBe(3);
	const second = call();
	await stopsAt(6, "numbers", "[1.0, 2.0, 6.0]");
	await stopsAt(8, "total", "9.0");
	expect(await second).toBe(3);
});

test
	.runIf(process.platform === "linux")
	.each(rows([true, "debugpy"], (debug) => debug === true))(
	"a host that is killed leaves no worker that stands at a breakpoint (%s)",
	{ timeout: TIMEOUT_MS },
	async (debug) => {
		const project = stoppingProject();
		await using host = await markedHost(program, [
			...[project.tools, PYTHON, join(project.root, "ledger")],
			JSON.stringify(debug),
		]);
		// The worker, and on Linux the three guards above it.
		expect(host.living()).toHaveLength(process.platform === "linux" ? 4 : 1);
		expect(await host.kill(5_000)).toEqual([]);
	},
);

test("without debug, breakpoint() fails the call and says what to do", {
	timeout: TIMEOUT_MS,
}, async () => {
	const { pool } = await stoppingProject().pool();
	const call = pool.execute("mean", { numbers: [1] });
	await expect(call).rejects.toThrow(ToolError);
	await expect(call).rejects.toThrow("give the adapter debug: true");
});
