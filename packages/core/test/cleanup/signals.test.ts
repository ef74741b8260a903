import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { endGroup } from "../../../../scripts/end-group.ts";
import { readRunFile } from "../../src/registry/run-file.ts";
import { parseRunFile } from "../../src/registry/run-name.ts";
import { sqlite } from "./bench.ts";
import { isAlive, machine, temporaryDirectory } from "./hosts.ts";

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

test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
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

// That it waits for nothing is seen where time is handed in: application-cleanup-signals.test.ts.
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

test.each(["listens", "listens_once", "listened_once_before"])(
	"a program that listens to the signal itself (%s) decides when it ends; its worker leaves all the same",
	async (ending) => {
		const program = new Program("sleeps.sh", ending);
		const pid = await program.up();
		program.child.kill("SIGTERM");
		const lines = [await program.line(), await program.line()];
		expect(lines).toContainEqual({ listened: true });
		expect(await program.line()).toEqual({ lives: true });
		expect(isAlive(pid)).toBe(false);
		expect(program.child.exitCode).toBe(null);
		expect(program.child.signalCode).toBe(null);
	},
);
