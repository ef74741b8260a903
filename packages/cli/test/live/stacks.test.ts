/** `snakepit stacks` of workers that are busy or hang; each goes on afterwards as if nothing had been asked. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
	closeSync,
	mkdtempSync,
	openSync,
	writeFileSync,
	writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { python } from "@snakepit/adapter-python";
import { createPool, type Pool, type PoolOptions } from "@snakepit/core";
import { expect, onTestFinished, test } from "vitest";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import { PYTHON } from "../../../adapter-python/test/support/pythons.ts";
import { controlledHost } from "../../../core/test/control/controlled-host.ts";

const SNAKEPIT = [
	"--conditions=snakepit-source",
	join(import.meta.dirname, "../../src/command/snakepit.ts"),
] as const;

interface Bench {
	readonly dataDir: string;
	readonly pool: Promise<Pool>;
	/** What its workers have printed. */
	readonly printed: string[];
	stacks(
		...args: readonly string[]
	): Promise<{ status: number | null; stdout: string; stderr: string }>;
	/** A pipe by which the test lets a tool go on. */
	fifo(): { readonly path: string; goOn(): void };
}

function bench(
	options: Partial<PoolOptions> = {},
	env: Readonly<Record<string, string>> = {},
): Bench {
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-test-"));
	onTestFinished(() => removeDirectory(dataDir));
	const printed: string[] = [];
	const tools = join(import.meta.dirname, "stuck.py");
	const pool = createPool({
		...{ name: "tools", adapter: python({ tools, python: PYTHON, env }) },
		...{ size: 1, dataDir, output: { echo: "none" } },
		onEvent: (event) => {
			if (event.type === "worker.output") printed.push(event.line);
		},
		...options,
	});
	onTestFinished(async () => {
		await pool.then(
			(each) => each.close({ manner: "forced" }),
			() => {},
		);
	});
	return {
		...{ dataDir, pool, printed },
		stacks: (...args) => stacks(dataDir, ...args),
		fifo: () => {
			const path = join(dataDir, `fifo${Math.random()}`);
			expect(spawnSync("mkfifo", [path]).status).toBe(0);
			// Also to read, so that nothing waits for the other end to be opened.
			const end = openSync(path, "r+");
			const goOn = () => {
				writeSync(end, "x");
				closeSync(end);
			};
			return { path, goOn };
		},
	};
}

async function stacks(dataDir: string, ...args: readonly string[]) {
	const child = spawn(
		process.execPath,
		[...SNAKEPIT, "stacks", ...args, "--data-dir", dataDir],
		{ stdio: ["ignore", "pipe", "pipe"] },
	);
	onTestFinished(() => void child.kill("SIGKILL"));
	const texts = { stdout: "", stderr: "" };
	for (const name of ["stdout", "stderr"] as const)
		child[name].on("data", (text) => {
			texts[name] += text;
		});
	const [status] = await once(child, "close");
	return { status, ...texts };
}

/** Asks until they show something: the tool has just begun. */
async function shown(
	ask: () => Promise<{ readonly stdout: string }>,
	what: RegExp,
): Promise<string> {
	let text = "";
	await expect
		.poll(
			async () => {
				text = (await ask()).stdout;
				return text;
			},
			{ timeout: 60_000 },
		)
		.toMatch(what);
	return text;
}

/** Makes a call, and resolves when its worker has it. */
async function begun(pool: Pool, command: string, argument: string) {
	const dispatched = new Promise((resolve) => {
		pool.on("call.dispatched", resolve);
	});
	const result = pool.execute(command, [argument]);
	result.catch(() => {}); // Of a test that has failed.
	await dispatched;
	return { result };
}

test("of a worker that computes, and of one that waits, they show where, and the calls end as ever", async () => {
	const { pool: opening, printed, stacks, dataDir, fifo } = bench();
	const pool = await opening;
	const [{ pid } = { pid: 0 }] = pool.workers();
	const until = join(dataDir, "until");
	const spun = await begun(pool, "spins", until);
	for (let times = 0; times < 3; times++)
		await shown(
			() => stacks("tools-0"),
			new RegExp(
				`^tools-0 \\(pid ${pid}\\) at [\\d:]{8}: runs spins \\(c1, for .*\\)\\.\\n\\nMainThread \\(most recent call first\\):\\n(?:  File .*\\n)*?  File ".*/stuck\\.py", line \\d+ in spins\\n  … \\d+ frames of the bridge\\n`,
			),
		);
	writeFileSync(until, "");
	expect(await spun.result).toBe("spun");

	const { path, goOn } = fifo();
	const waited = await begun(pool, "waits", path);
	const text = await shown(() => stacks("tools-0", "--json"), / in waits"/);
	const json = JSON.parse(text);
	expect(json).toMatchObject({
		...{ workerId: "tools-0", pid, how: "asked" },
		running: [{ command: "waits", callId: "c2" }],
	});
	goOn();
	expect(await waited.result).toBe(1);
	expect(pool.workers()[0]?.pid).toBe(pid);
	expect(printed).toEqual([]);

	const gate = join(dataDir, "gate");
	const awaited = await begun(pool, "awaits", gate);
	await shown(
		() => stacks("tools-0"),
		/\n\nCoroutine of awaits \(most recent call first\):\n(?: {2}File .*\n)* {2}File ".*\/stuck\.py", line \d+ in awaits\n/,
	);
	writeFileSync(gate, "");
	expect(await awaited.result).toBe("awaited");

	const idle = await stacks("tools-0");
	expect(idle.stdout).toMatch(
		/: runs no call\.\n\nNo thread runs code of the tools; \d+ threads of the bridge wait/,
	);
}, 90_000);

test("where code in C holds Python's lock, a handler writes them, and the worker goes on", async () => {
	const { pool: opening, printed, stacks, fifo } = bench();
	const pool = await opening;
	const { path, goOn } = fifo();
	const [{ pid } = { pid: 0 }] = pool.workers();
	const held = await begun(pool, "holds_the_lock", path);
	const stdout = await shown(
		() => stacks("tools-0"),
		/the handler of a signal wrote these stacks/,
	);
	expect(stdout).toMatch(/stuck\.py", line \d+ in holds_the_lock/);
	goOn();
	expect(await held.result).toBe(1);
	expect(await pool.execute("echo", ["still there"])).toBe("still there");
	// The first signal is answered now; that is not output of the worker.
	const after = await stacks("tools-0");
	expect(after.stdout).toContain("runs no call");
	expect(printed).toEqual([]);
	expect(pool.workers()[0]?.pid).toBe(pid);
}, 90_000);

test("of a worker that hangs in its start they show the import", async () => {
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-fifo-"));
	onTestFinished(() => removeDirectory(dataDir));
	const path = join(dataDir, "fifo");
	expect(spawnSync("mkfifo", [path]).status).toBe(0);
	const { pool, stacks } = bench({}, { STUCK_IMPORT: path });
	// Until it reads, it is on its way there.
	await shown(() => stacks("tools-0"), /stuck\.py", line \d+ in <module>/);
	writeFileSync(path, "x");
	expect(await (await pool).execute("echo", ["up"])).toBe("up");
}, 90_000);

test("a worker that is stopped, that there is not, or that is no Python is named, with what can be done", async () => {
	const { pool: opening, stacks: ofPython } = bench();
	const pool = await opening;
	const [{ pid = 0 } = {}] = pool.workers();
	process.kill(pid, "SIGSTOP");
	expect(await ofPython("tools-0")).toMatchObject({
		...{ status: 1, stdout: "" },
		stderr: expect.stringMatching(
			/Worker tools-0 is stopped by a signal, and can write its stacks only when it continues \(SIGCONT\)\. \(STACKS_UNAVAILABLE\)/,
		),
	});
	process.kill(pid, "SIGCONT");
	expect(await ofPython("tools-0")).toMatchObject({ status: 0 });
	expect(await ofPython("tools-7")).toMatchObject({ status: 3 });

	const host = await controlledHost({ control: true });
	expect(await stacks(host.dataDir, "lines-0")).toMatchObject({
		...{ status: 1, stdout: "" },
		stderr: expect.stringMatching(
			/Worker lines-0 cannot write its stacks: the adapter lines names no signal for that.*gdb -p \d+.*\(NOT_OFFERED\)/,
		),
	});
}, 90_000);
