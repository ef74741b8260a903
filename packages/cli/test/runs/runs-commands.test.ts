import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { snakepit } from "../run/started.ts";

/** Each looks at many programs, one after the other. */
const DEADLINE_MS = 120_000;
const HOST = join(import.meta.dirname, "host.ts");

async function hostIn(dataDir: string, size: number): Promise<ChildProcess> {
	const host = spawn(
		process.execPath,
		["--conditions=snakepit-source", HOST, dataDir, String(size)],
		{ stdio: ["pipe", "pipe", "inherit"] },
	);
	onTestFinished(() => {
		host.kill("SIGKILL");
	});
	await once(host.stdout ?? host, "data");
	return host;
}

async function ended(host: ChildProcess, by: "its input" | "SIGKILL") {
	const end = once(host, "exit");
	if (by === "SIGKILL") host.kill(by);
	else host.stdin?.end();
	await end;
}

function shown(dataDir: string, ...args: readonly string[]) {
	const { stderr, ...rest } = snakepit([...args, "--data-dir", dataDir]);
	expect(stderr).toBe("");
	return rest;
}

test(
	"where nothing ever ran, that is said, and nothing is made",
	() => {
		const dataDir = join(temporaryDirectory(), "absent");
		const look = (command: string) =>
			snakepit([command, "--data-dir", dataDir]);
		const stderr = `snakepit: there is no directory ${dataDir}.\n`;
		expect(look("ps")).toEqual({
			status: 0,
			stdout: "No program of yours has an open run here.\n",
			stderr,
		});
		expect(look("history")).toMatchObject({
			stdout: "No run is recorded.\n",
			stderr,
		});
		expect(look("incidents").stdout).toMatch(/^No worker and no host ended/);
		expect(existsSync(dataDir)).toBe(false);
	},
	DEADLINE_MS,
);

test(
	"a run that lives is running, and then has ended in order",
	async () => {
		const dataDir = temporaryDirectory();
		const host = await hostIn(dataDir, 2);
		expect(shown(dataDir, "history").stdout).toMatch(/ \d.* m?s +2 +running\n/);
		await ended(host, "its input");
		expect(shown(dataDir, "history").stdout).toMatch(/ 2 +ended in order\n/);
		expect(shown(dataDir, "incidents").stdout).toMatch(
			/^No worker and no host ended/,
		);
	},
	DEADLINE_MS,
);

test(
	"a host that was killed is dead and an incident at once, and also when another program has cleaned up after it",
	async () => {
		const dataDir = temporaryDirectory();
		await ended(await hostIn(dataDir, 1), "SIGKILL");
		expect(shown(dataDir, "history").stdout).toMatch(
			// Known as soon as the guard has written that it saw the death.
			/ (unknown|\d.* m?s) +1 +died\. Its program is gone and recorded no end, as after SIGKILL.* or snakepit reap, cleans up after it\.\n/,
		);
		const before = shown(dataDir, "incidents").stdout;
		expect(before).toMatch(
			// Whichever of the two is first; a guard has written when.
			/\n(unknown +\w+ +waiting-0 \(pid \d+\) ended: host died, ended by lifeline|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +\w+ +waiting-0 \(pid \d+\) ended: host died, ended by protection)\n/,
		);
		expect(before).toMatch(
			// As in the history.
			/\n(unknown|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) +\w+ +died\. Its program is gone/,
		);
		await ended(await hostIn(dataDir, 1), "its input");
		const { stdout } = shown(dataDir, "incidents");
		expect(stdout).toMatch(/^TIME +RUN +WHAT\n/);
		expect(stdout).toMatch(
			/ended: host died, ended by (lifeline|protection)\n/,
		);
		expect(stdout).toMatch(
			/died\. .* Cleaned up by the start of run \w{7} in /,
		);
		const found = JSON.parse(shown(dataDir, "incidents", "--json").stdout);
		expect(found.length).toBeGreaterThanOrEqual(1);
		expect(shown(dataDir, "history").stdout).toMatch(
			/Cleaned up by the start of run \w{7}/,
		);
	},
	DEADLINE_MS,
);

test(
	"one run can be asked for, by how its id begins; one that is not there is said",
	async () => {
		const dataDir = temporaryDirectory();
		await ended(await hostIn(dataDir, 1), "SIGKILL");
		const before = JSON.parse(shown(dataDir, "history", "--json").stdout);
		const host = await hostIn(dataDir, 1);
		const { programs } = JSON.parse(shown(dataDir, "ps", "--json").stdout);
		const [over, living] = [before[0].runId, programs[0].runId];
		const listed = (command: string, run: string, ...more: string[]) =>
			shown(dataDir, command, "--run", run, ...more).stdout;
		expect(listed("ps", living)).toMatch(/^1 program runs with 1 pool: 1 /);
		expect(listed("ps", over, "-a")).toMatch(
			/^No program of yours has an open run/,
		);
		expect(listed("history", over)).toContain(`\n${over} `);
		expect(listed("history", over)).not.toContain(`\n${living} `);
		const newest = shown(dataDir, "history", "--runs", "1").stdout;
		expect(newest).not.toContain(over);
		expect(newest).toMatch(
			/\nOlder runs .*: snakepit history --runs 2 --data-dir \S+\n$/,
		);
		expect(shown(dataDir, "history", "--runs", "2").stdout).not.toMatch(
			/Older runs/,
		);
		expect(listed("incidents", over)).toContain(` ${over} `);
		expect(listed("incidents", living)).toMatch(/^No worker and no host ended/);
		for (const command of ["ps", "history", "incidents"])
			expect(
				snakepit([command, "--run", "nemo", "--data-dir", dataDir]),
			).toMatchObject({
				...{ status: 3, stdout: "" },
				stderr: expect.stringMatching(
					/^snakepit: No run "nemo" .*snakepit (history|ps -a)/,
				),
			});
		await ended(host, "its input");
	},
	DEADLINE_MS,
);
