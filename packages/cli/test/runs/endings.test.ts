import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { SNAKEPIT_IN_NODE } from "../run/started.ts";

/** Each runs some programs, one after the other. */
const DEADLINE_MS = 120_000;
const PROGRAM = join(import.meta.dirname, "crashing.ts");

/** Runs the program to its end, and returns the directory of its ledger. */
function ended(how: string): string {
	const dataDir = temporaryDirectory();
	const args = ["--conditions=snakepit-source", PROGRAM, dataDir, how];
	spawnSync(process.execPath, args, { stdio: "ignore" });
	return dataDir;
}

function snakepit(...args: readonly string[]) {
	const [program, ...before] = SNAKEPIT_IN_NODE;
	const { status, stdout, stderr } = spawnSync(program, [...before, ...args], {
		encoding: "utf8",
	});
	return { status, stdout, stderr };
}

/** The rows below the titles. */
function rows(command: string, dataDir: string): readonly string[] {
	const { stdout } = snakepit(command, "--data-dir", dataDir);
	return stdout.trimEnd().split("\n").slice(1);
}

const WHERE = "at bill \\(.*crashing\\.ts:\\d+:\\d+\\)";

test.each([
	[
		"crash",
		`crashed\\. An unhandled rejection: RangeError: no such customer: 17, ${WHERE}\\.$`,
	],
	[
		"exit",
		"exited with code 7\\. It called process\\.exit\\(7\\) at .*crashing\\.ts:\\d+:\\d+\\.$",
	],
] as const)(
	"the first row of history and of incidents says how a program ended: %s",
	(how, end) => {
		const dataDir = ended(how);
		expect(rows("history", dataDir)[0]).toMatch(new RegExp(end));
		expect(rows("incidents", dataDir)[0]).toMatch(new RegExp(end));
	},
	DEADLINE_MS,
);

test(
	"a pool that cannot be created is an incident with the reason, and so is its worker, and the crash that follows",
	() => {
		const dataDir = ended("no program");
		expect(rows("history", dataDir)[0]).toMatch(
			/crashed\. An unhandled rejection: StartError WORKER_EXITED_EARLY: Worker bills-0 .* exited with code 1 before it was ready, at .*crashing\.ts:/,
		);
		const { stdout } = snakepit("incidents", "--json", "--data-dir", dataDir);
		const found = JSON.parse(stdout);
		const error = { name: "StartError", code: "WORKER_EXITED_EARLY" };
		const host = { program: "crashing.ts", pid: expect.any(Number) };
		expect(found).toMatchObject([
			{ type: "host.ended", host, reason: "crashed", code: 1, error },
			{ type: "pool.start_failed", host, pool: "bills", error },
			{
				...{ type: "worker.ended", host, pool: "bills", worker: "bills-0" },
				...{ pid: expect.any(Number), reason: "start_failed", code: 1, error },
				text: expect.stringMatching(
					/^bills-0 \(pid \d+\) could not be started: /,
				),
			},
		]);
	},
	DEADLINE_MS,
);

test(
	"history shows below a run who asked for what, and all of it of one run",
	() => {
		const dataDir = ended("paused");
		const [run = "", act, ...rest] = rows("history", dataDir);
		expect(run).toMatch(/ended in order$/);
		expect(act).toMatch(/^ {4}\S+ \S+ {2}pool bills is paused by the night/);
		expect(rest).toEqual([]);
		const [runId = ""] = run.split(" ");
		const { stdout } = snakepit(
			"history",
			"--run",
			runId,
			"--data-dir",
			dataDir,
		);
		expect(stdout).toMatch(
			/paused by the night shift\n.*resumed by close\n.*closed by program\n|closed by program\n.*resumed by close\n/,
		);
		const [json] = JSON.parse(
			snakepit("history", "--json", "--data-dir", dataDir).stdout,
		);
		expect(json).toMatchObject({
			programEnd: { how: "finished", code: 0 },
			acts: [{ type: "pool.paused", by: "the night shift" }, {}, {}],
		});
	},
	DEADLINE_MS,
);

test.each(["history", "incidents"])(
	"with --json, what is wrong with %s is JSON on standard error",
	(command) => {
		const dataDir = ended("paused");
		const failed = (...args: string[]) => {
			const result = snakepit(command, "--json", ...args);
			expect(result.stdout).toBe("");
			const { error } = JSON.parse(result.stderr);
			return [result.status, error.code, error.message];
		};
		expect(failed("--run", "nemo", "--data-dir", dataDir)).toEqual([
			...[3, "absent"],
			expect.stringMatching(/^No run "nemo" is recorded/),
		]);
		expect(failed("--runs", "0")).toEqual([
			...[2, "usage"],
			expect.stringMatching(/'0' is invalid/),
		]);
	},
	DEADLINE_MS,
);
