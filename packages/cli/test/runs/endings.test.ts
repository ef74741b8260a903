import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { developmentPython } from "../../../../scripts/python-environment.ts";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { snakepit } from "../run/started.ts";
import { linesInTerminal } from "./in-terminal.ts";

/** Each runs some programs, one after the other. */
const DEADLINE_MS = 120_000;
const PROGRAM = join(import.meta.dirname, "crashing.ts");
const STARTING = join(import.meta.dirname, "starting.ts");

/** Runs a program to its end, and returns the directory of its ledger. */
function ended(
	how: string,
	program: string = PROGRAM,
	dataDir: string = temporaryDirectory(),
): string {
	const own = [program, dataDir, ...(how === "" ? [] : [how])];
	const env = {
		...process.env,
		VIRTUAL_ENV: join(developmentPython(), "../.."),
	};
	spawnSync(process.execPath, ["--conditions=snakepit-source", ...own], {
		...{ stdio: "ignore", env },
	});
	return dataDir;
}

/** The rows below the titles. */
function rows(command: string, dataDir: string): readonly string[] {
	const { stdout } = snakepit([command, "--data-dir", dataDir]);
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
			/crashed\. An unhandled rejection: StartError SPAWN_FAILED: Cannot start \/no\/such\/program: .* at .*crashing\.ts:\d+:\d+\.$/,
		);
		const { stdout } = snakepit(["incidents", "--json", "--data-dir", dataDir]);
		const found = JSON.parse(stdout);
		const error = { name: "StartError", code: "SPAWN_FAILED" };
		const host = { program: "crashing.ts", pid: expect.any(Number) };
		expect(found).toMatchObject([
			{ type: "host.ended", host, reason: "crashed", code: 1, error },
			{ type: "pool.start_failed", host, pool: "bills", error },
			{
				...{ type: "worker.ended", host, pool: "bills", worker: "bills-0" },
				...{ reason: "start_failed", error },
				text: expect.stringMatching(
					/^bills-0( \(pid \d+\))? could not be started: SPAWN_FAILED: /,
				),
			},
		]);
	},
	DEADLINE_MS,
);

test(
	"why a worker could not be started is in its incident: the error of its tools, and where",
	() => {
		const tools = join(temporaryDirectory(), "models.py");
		writeFileSync(
			tools,
			"import json\n\nprint('starts')\nopen('/models/a.bin')  # Is the volume mounted?\n",
		);
		const dataDir = ended(tools, STARTING);
		expect(rows("incidents", dataDir).at(-1)).toMatch(
			/ models-0 \(pid \d+\) could not be started: TOOLS_IMPORT_FAILED: .*: FileNotFoundError: \[Errno 2\] No such file or directory: '\/models\/a\.bin', at <module> \(.*models\.py:4\)(; it ended with status 70)?; last line: starts$/,
		);
		const { stdout } = snakepit(["history", "--json", "--data-dir", dataDir]);
		expect(JSON.parse(stdout)[0].workers.at(-1).startError).toMatchObject({
			...{ name: "StartError", code: "TOOLS_IMPORT_FAILED" },
			message: expect.stringContaining("FileNotFoundError"),
		});
	},
	DEADLINE_MS,
);

test(
	"a pool that closes while killed workers are started again leaves no incidents but those workers",
	() => {
		const found = rows("incidents", ended("", STARTING));
		expect(found).toHaveLength(4);
		for (const row of found)
			expect(row).toMatch(/ arg-\d \(pid \d+\) ended by SIGKILL, it is/);
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
		const { stdout } = snakepit([
			...["history", "--run", runId, "--data-dir", dataDir],
		]);
		expect(stdout).toMatch(
			/paused by the night shift\n.*resumed by close\n.*closed by program\n|closed by program\n.*resumed by close\n/,
		);
		const [json] = JSON.parse(
			snakepit(["history", "--json", "--data-dir", dataDir]).stdout,
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
			const result = snakepit([command, "--json", ...args]);
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
			expect.stringMatching(
				/--runs <number>.*'0' is invalid\. It must be 1 or/,
			),
		]);
		const absent = join(dataDir, "absent");
		const { stdout, stderr } = snakepit([
			...[command, "--json", "--data-dir", absent],
		]);
		expect(JSON.parse(stdout)).toEqual([]);
		expect(JSON.parse(stderr).warning.message).toContain(absent);
	},
	DEADLINE_MS,
);

test(
	"in a terminal of 80 columns, no row of history and incidents is longer, and the cause is whole",
	() => {
		const dataDir = ended("crash");
		for (const command of ["history", "incidents"]) {
			const lines = linesInTerminal(80, command, "--data-dir", dataDir);
			for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
			const joined = lines.map((line) => line.trim()).join(" ");
			expect(joined).toMatch(
				new RegExp(
					`crashed\\.? An unhandled rejection: RangeError: no such customer: 17, ${WHERE}\\.`,
				),
			);
			// Where it is no terminal, a row is one line.
			expect(rows(command, dataDir)[0]).toMatch(new RegExp(`${WHERE}\\.$`));
		}
	},
	DEADLINE_MS,
);

/** What `ps` of this ledger prints. */
function ps(dataDir: string, ...more: readonly string[]) {
	const { status, stdout } = snakepit(["ps", "--data-dir", dataDir, ...more]);
	return { status, lines: stdout.trimEnd().split("\n") };
}

test(
	"ps names a program that has crashed in the last hour, also below those that are fine, until a newer run of it lives or has ended well",
	async () => {
		const dataDir = ended("crash");
		const says =
			/^crashing\.ts \(run (\w{7})\) crashed \S+ m?s ago: RangeError: no such customer: 17, at bill \(.*crashing\.ts:\d+:\d+\)\. See: snakepit history --run \1 --data-dir \S+\.$/;
		const alone = ps(dataDir);
		expect(alone).toMatchObject({
			...{ status: 1, lines: [expect.stringMatching(says)] },
		});
		const [, runId = ""] = says.exec(alone.lines[0] ?? "") ?? [];
		expect(ps(dataDir, "--run", runId)).toMatchObject({ status: 1 });
		const { stdout } = snakepit(["ps", "--json", "--data-dir", dataDir]);
		expect(JSON.parse(stdout)).toMatchObject({
			verdict: { level: "trouble" },
			failed: [{ runId, program: "crashing.ts", words: "crashed" }],
		});
		const newer = spawn(
			process.execPath,
			["--conditions=snakepit-source", PROGRAM, dataDir, "lives"],
			{ stdio: ["pipe", "pipe", "inherit"] },
		);
		onTestFinished(() => void newer.kill("SIGKILL"));
		await once(newer.stdout, "data");
		const beside = ps(dataDir);
		expect(beside.lines[0]).toMatch(/^1 program runs with 1 pool/);
		expect(beside.status).toBe(0);
		newer.stdin.end();
		await once(newer, "exit");
		expect(ps(dataDir)).toEqual({
			...{ status: 0, lines: ["No program of yours has an open run here."] },
		});
	},
	DEADLINE_MS,
);

test(
	"of many programs that ended badly, ps names three; one that its user ended by SIGTERM did not",
	() => {
		const dataDir = ended("crash");
		for (const how of ["crash", "exit", "no program", "crash"])
			ended(how, PROGRAM, dataDir);
		const [verdict, ...below] = ps(dataDir).lines;
		expect(verdict).toMatch(/ crashed .* Also: .*: exited with code 7; /);
		expect(below).toEqual([
			expect.stringMatching(/ crashed .* ago: StartError SPAWN_FAILED: /),
			expect.stringMatching(
				/ exited with code 7 .* ago: It called process\.exit\(7\) at /,
			),
			`and 2 more: snakepit ps -a --data-dir ${dataDir}`,
		]);
		expect(ps(ended("SIGTERM"))).toMatchObject({ status: 0 });
	},
	DEADLINE_MS,
);

test(
	"a run is named by its program or its pool, the one that lives before those that are over; several are listed",
	async () => {
		const dataDir = ended("crash");
		const asked = (command: string, ...more: readonly string[]) =>
			snakepit([command, ...more, "--data-dir", dataDir]);
		const { runId: over } = JSON.parse(asked("history", "--json").stdout)[0];
		for (const name of [over, "crashing.ts", "crashing", "bills"]) {
			const tells = new RegExp(
				`^snakepit: Run ${over} of crashing\\.ts is over: crashed \\S+ m?s ago, at \\S+ \\S+\\. An unhandled rejection: RangeError: no such customer: 17, ${WHERE}\\. See: snakepit incidents --run ${over} --data-dir \\S+, snakepit history --run ${over} --data-dir \\S+\\.`,
			);
			for (const command of [["logs"], ["top", "--once"], ["stacks", "x-0"]]) {
				const [first = "", ...more] = command;
				expect(asked(first, ...more, "--run", name)).toMatchObject({
					...{ status: 3, stdout: "", stderr: expect.stringMatching(tells) },
				});
			}
			expect(asked("history", "--run", name).stdout).toContain(over);
			expect(asked("inspect", name).stdout).toMatch(
				new RegExp(`^run ${over} \\(terminated\\)`),
			);
		}
		const newer = spawn(
			process.execPath,
			["--conditions=snakepit-source", PROGRAM, dataDir, "lives"],
			{ stdio: ["pipe", "pipe", "inherit"] },
		);
		onTestFinished(() => void newer.kill("SIGKILL"));
		await once(newer.stdout, "data");
		for (const name of ["crashing.ts", "bills"]) {
			expect(asked("ps", "--run", name)).toMatchObject({
				...{ status: 0, stdout: expect.stringContaining(" bills ") },
			});
			expect(asked("inspect", name).stdout).toMatch(
				/^run \w{7} \(running\) of crashing\.ts /,
			);
		}
		newer.stdin.end();
		await once(newer, "exit");
		expect(asked("logs", "--run", "crashing")).toMatchObject({
			status: 2,
			stderr: expect.stringMatching(
				new RegExp(
					`2 runs "crashing" are over, and none lives: \\w{7} \\(crashing\\.ts, pid \\d+, since \\S+ \\S+\\), ${over} \\(.*\\)\\. Name one by its id\\.`,
				),
			),
		});
	},
	DEADLINE_MS,
);
