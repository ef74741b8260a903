import { expect, test } from "vitest";
import {
	Host,
	isAlive,
	temporaryDirectory,
} from "../../../core/test/cleanup/hosts.ts";
import { finishedReap } from "../../src/runs/reap-command.ts";
import { snakepit } from "../run/started.ts";

const DEADLINE_MS = 120_000;

function reap(dataDir: string, ...flags: readonly string[]) {
	return snakepit(["reap", "--data-dir", dataDir, ...flags]);
}

test(
	"reap ends what killed programs left: --dry-run lists it, --run ends that of one",
	async () => {
		const dataDir = temporaryDirectory();
		const hosts = [1, 2].map(
			() => new Host({ dataDir, workers: ["sleeps.sh"] }),
		);
		const [first, second] = await Promise.all(hosts.map((host) => host.up()));
		if (first === undefined || second === undefined) throw new Error("Two.");
		expect(reap(dataDir)).toEqual({
			...{ status: 0, stdout: "No dead run was left.\n", stderr: "" },
		});
		expect(reap(dataDir, "--run", first.runId)).toMatchObject({
			status: 5,
			stderr: expect.stringContaining(`its program has pid ${first.self.pid}`),
		});
		await Promise.all(hosts.map((host) => host.kill()));

		expect(reap(dataDir, "--run", "")).toMatchObject({
			status: 2,
			stderr: expect.stringMatching(
				/: 2 runs begin with "": \w{7}, \w{7}\.\n$/,
			),
		});
		const planned = reap(dataDir, "--dry-run");
		expect(planned.status, planned.stderr).toBe(1);
		const [verdict, titles, ...rows] = planned.stdout.trimEnd().split("\n");
		expect(verdict).toBe(
			"Would clean up after 2 dead runs and end 2 processes.",
		);
		expect(titles).toMatch(/^RUN +PROGRAM +PID +WHAT$/);
		expect(rows).toHaveLength(2);
		for (const { runId, pids } of [first, second])
			expect(planned.stdout).toMatch(
				new RegExp(
					`^${runId} +host-program.ts +${pids[0]} +would be ended$`,
					"m",
				),
			);
		expect([...first.pids, ...second.pids].map(isAlive)).toEqual([true, true]);

		const one = reap(dataDir, "--run", first.runId, "--json");
		expect(one.status, one.stderr).toBe(0);
		expect(JSON.parse(one.stdout)).toMatchObject({
			verdict: { isGood: true },
			deadRuns: [first.runId],
			processes: [
				{
					...{ runId: first.runId, program: "host-program.ts" },
					...{ pid: first.pids[0], outcome: "ended_on_term" },
				},
			],
			sparedRuns: [],
		});
		expect([...first.pids, ...second.pids].map(isAlive)).toEqual([false, true]);
		expect(reap(dataDir, "--run", first.runId)).toMatchObject({
			status: 3,
			stderr: expect.stringContaining("snakepit history"),
		});

		const rest = reap(dataDir);
		expect(rest.stdout).toMatch(
			/^Cleaned up after 1 dead run and ended 1 process\.\n/,
		);
		expect(rest.status).toBe(0);
		expect(second.pids.map(isAlive)).toEqual([false]);
		const { stdout } = snakepit(["history", "--data-dir", dataDir]);
		expect(
			stdout.match(/Cleaned up by snakepit reap \(pid \d+\)/g),
		).toHaveLength(2);
		expect(stdout.trimEnd().split("\n")).toHaveLength(3);
	},
	DEADLINE_MS,
);

test(
	"reap does not end before what ignores SIGTERM is killed, and recorded",
	async () => {
		const dataDir = temporaryDirectory();
		const host = new Host({ dataDir, workers: ["ignores-sigterm.sh"] });
		const { pids } = await host.up();
		await host.kill();
		const { status, stdout, stderr } = reap(dataDir);
		expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
		expect(stdout).toMatch(
			new RegExp(`^\\w{7} +host-program.ts +${pids[0]} +killed$`, "m"),
		);
		expect(pids.map(isAlive)).toEqual([false]);
	},
	DEADLINE_MS,
);

test("processes and runs that were left alone are no success, but for runs that another machine judges", () => {
	const done = {
		...{ deadRuns: ["abcdefg"], reaped: [], setAside: [] },
		...{ sparedProcesses: [], sparedRuns: [] },
	} as unknown as Parameters<typeof finishedReap>[0];
	const verdict = (more: object) => finishedReap({ ...done, ...more }).verdict;
	const process = { ofRun: "abcdefg", pid: 7, reason: "identity_unknown" };
	expect(verdict({ sparedProcesses: [process] })).toEqual({
		isGood: false,
		text: "Cleaned up after 1 dead run and ended 0 processes; 1 process left alone.",
	});
	const run = (reason: string) => ({ runId: "hijklmn", reason });
	expect(verdict({ sparedRuns: [run("unreadable")] }).isGood).toBe(false);
	expect(verdict({ sparedRuns: [run("other_machine")] }).isGood).toBe(true);
	expect(verdict({ sparedRuns: [run("owner_alive")] })).toEqual({
		isGood: true,
		text: "Cleaned up after 1 dead run and ended 0 processes.",
	});
});
