import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { endGroup } from "../../../../scripts/end-host.ts";
import { rows } from "../../../../scripts/test-effort.ts";
import { readRunFile } from "../../src/registry/history.ts";
import { parseRunFile } from "../../src/registry/run-name.ts";
import { sqlite } from "../cleanup/bench.ts";
import { isAlive, machine, temporaryDirectory } from "../cleanup/hosts.ts";

class Program {
	readonly dataDir = temporaryDirectory();
	readonly child: ChildProcess;
	readonly exit: Promise<unknown[]>;
	readonly #lines: AsyncIterator<string>;

	constructor(habit: string, ending?: string) {
		const program = join(import.meta.dirname, "signal-program.ts");
		this.child = spawn(
			process.execPath,
			[program, this.dataDir, habit, ...(ending ? [ending] : [])],
			{
				stdio: ["ignore", "pipe", "ignore"],
				env: { ...process.env, TMPDIR: this.dataDir },
			},
		);
		this.exit = once(this.child, "exit");
		const { stdout } = this.child;
		if (stdout === null) throw new Error("It has no output.");
		this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
		onTestFinished(() => void this.child.kill("SIGKILL"));
	}

	async line(): Promise<Record<string, unknown>> {
		const { value, done } = await this.#lines.next();
		return done ? {} : JSON.parse(value);
	}

	/** The pid of its worker. */
	async up(): Promise<number> {
		const { pid } = await this.line();
		const seen = machine.observe(Number(pid));
		if (typeof seen !== "string") onTestFinished(() => endGroup(machine, seen));
		return Number(pid);
	}

	/** What its ledger says in the end. */
	history(): unknown {
		const history = join(this.dataDir, "history");
		return readdirSync(history).map((file) => {
			const name = parseRunFile(file)?.name;
			return name && readRunFile(sqlite, join(history, file), name);
		});
	}
}

test.each(
	rows(["SIGTERM", "SIGINT", "SIGHUP"], (signal) => signal === "SIGTERM"),
)(
	"%s to the host: its worker leaves in order, its run is over, and the exit says the signal",
	async (signal) => {
		const program = new Program("sleeps.sh");
		const pid = await program.up();
		program.child.kill(signal);
		expect(await program.line()).toMatchObject({ signal, forced: false });
		expect(await program.exit).toEqual([null, signal]);
		expect(isAlive(pid)).toBe(false);
		expect(program.history()).toMatchObject([
			{
				run: { state: "terminated", clean: true, endedBy: "host" },
				workers: [{ end: { exit: { signal: "SIGTERM" }, reason: "closed" } }],
			},
		]);
	},
);

// That it waits for nothing is seen where time is handed in: application-cleanup.test.ts.
test("a second signal ends a worker that does not leave", async () => {
	const program = new Program("ignores-sigterm.sh");
	const pid = await program.up();
	program.child.kill("SIGINT");
	await program.line();
	program.child.kill("SIGTERM");
	expect(await program.line()).toMatchObject({
		signal: "SIGTERM",
		forced: true,
	});
	expect(await program.exit).toEqual([null, "SIGTERM"]);
	expect(isAlive(pid)).toBe(false);
});

test.each([
	["process.exit()", "exits", 7],
	["an uncaught error", "throws", 1],
])(
	"%s: the worker is killed in the last turn, the run is recorded as over, the exit code is right",
	async (_, ending, code) => {
		const program = new Program("ignores-sigterm.sh", ending);
		const pid = await program.up();
		expect(await program.exit).toEqual([code, null]);
		expect(isAlive(pid)).toBe(false);
		expect(program.history()).toMatchObject([
			{
				run: { state: "terminated", clean: true },
				workers: [
					{ end: { reason: "host_exit", killer: "application_cleanup" } },
				],
			},
		]);
	},
);

test("a program with nothing left to do ends by itself, in order, with code 0", async () => {
	const program = new Program("sleeps.sh", "idles");
	const pid = await program.up();
	expect(await program.exit).toEqual([0, null]);
	expect(isAlive(pid)).toBe(false);
	expect(program.history()).toMatchObject([
		{ workers: [{ end: { reason: "closed" } }] },
	]);
});

test.each(
	rows(
		["listens", "listens_once", "listened_once_before", "shuts_an_sdk_down"],
		(ending) => ending === "listens" || ending === "listens_once",
	),
)(
	"a program whose own listener (%s) does not end it keeps its worker for the grace; then the worker leaves in order and the program ends by the signal",
	async (ending) => {
		const program = new Program("sleeps.sh", ending);
		const pid = await program.up();
		program.child.kill("SIGTERM");
		const lines = [await program.line(), await program.line()];
		expect(lines).toContainEqual({ listened: true });
		expect(lines).toContainEqual(
			expect.objectContaining({ answer: "wait", graceMs: 1_000 }),
		);
		expect(await program.line()).toMatchObject({
			type: "host.grace_spent",
			graceMs: 1_000,
			otherListeners: ending.includes("once") ? 0 : 1,
			alive: true,
		});
		expect(await program.exit).toEqual([null, "SIGTERM"]);
		expect(isAlive(pid)).toBe(false);
		expect(program.history()).toMatchObject([
			{
				run: { state: "terminated", clean: true, endedBy: "host" },
				workers: [{ end: { exit: { signal: "SIGTERM" }, reason: "closed" } }],
			},
		]);
	},
);

test("a program whose own listener exits keeps its exit code, and no worker is left", async () => {
	const program = new Program("sleeps.sh", "exits_when_told");
	const pid = await program.up();
	program.child.kill("SIGTERM");
	expect(await program.exit).toEqual([5, null]);
	expect(isAlive(pid)).toBe(false);
});

test("a second signal ends a program whose own listener does not, and its worker, within the grace", async () => {
	const program = new Program("ignores-sigterm.sh", "listens_long");
	const pid = await program.up();
	program.child.kill("SIGTERM");
	await program.line();
	program.child.kill("SIGINT");
	expect(await program.exit).toEqual([null, "SIGINT"]);
	expect(isAlive(pid)).toBe(false);
	const lines = [await program.line(), await program.line()];
	expect(lines).toContainEqual(expect.objectContaining({ answer: "kill" }));
});

test("a second signal reaches the program's own listener first: its exit code holds", async () => {
	const program = new Program("sleeps.sh", "exits_when_told_twice");
	const pid = await program.up();
	program.child.kill("SIGTERM");
	await program.line();
	program.child.kill("SIGINT");
	expect(await program.exit).toEqual([6, null]);
	expect(isAlive(pid)).toBe(false);
});

test.each([
	["decides itself", "SIGTERM"],
	["reads_its_configuration", "SIGHUP"],
] as const)(
	"a program that %s at %s is left alone with its worker",
	async (ending, signal) => {
		const program = new Program("sleeps.sh", ending);
		const pid = await program.up();
		for (let times = 0; times < 2; times++) {
			program.child.kill(signal);
			const lines = [await program.line(), await program.line()];
			expect(lines).toContainEqual({ listened: true });
			expect(lines).toContainEqual(
				expect.objectContaining({ answer: "ignore", forced: false }),
			);
		}
		expect(isAlive(pid)).toBe(true);
		expect(program.child.exitCode ?? program.child.signalCode).toBe(null);
	},
);

test("a library that sends the signal again where it is alone gives no grace, and its hooks run", async () => {
	const program = new Program("sleeps.sh", "defers");
	const pid = await program.up();
	program.child.kill("SIGTERM");
	expect(await program.line()).toMatchObject({ answer: "close" });
	expect(await program.line()).toEqual({ lives: true });
	expect(await program.line()).toEqual({ hooks: "run" });
	expect(await program.exit).toEqual([null, "SIGTERM"]);
	expect(isAlive(pid)).toBe(false);
});
