import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { testMark } from "../../../../scripts/test-mark.ts";
import {
	INCARNATION_VARIABLE,
	MARKER_VARIABLE,
} from "../../src/contract/identity.ts";
import { openRun } from "../../src/index.ts";
import { Host, isAlive, machine, temporaryDirectory } from "./hosts.ts";

/** As a shell starts a program with variables that it read from a worker, and waits for it. */
const BY_A_SHELL = 'env $1 $2 sh -c "echo \\$\\$; exec sleep 100000" & wait';

/** The variables of a worker, as everybody of this user can read them. */
function variablesOf(pid: number): readonly [string, string] {
	const entries = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
	const find = (name: string): string =>
		entries.find((entry) => entry.startsWith(`${name}=`)) ?? "";
	return [find(MARKER_VARIABLE), find(INCARNATION_VARIABLE)];
}

/** Starts a program that is none of Snakepit's, in a session of its own or in this one. */
async function started(
	command: string,
	args: readonly string[],
	variables: NodeJS.ProcessEnv,
	detached: boolean,
): Promise<number> {
	const { PATH } = process.env;
	const env = { PATH, ...testMark(), ...variables };
	const child = spawn(command, [...args], {
		...{ env, detached },
		stdio: ["ignore", "pipe", "inherit"],
	});
	onTestFinished(() => ended(child));
	const lines = createInterface({ input: child.stdout });
	const [line] = (await once(lines, "line")) as [string];
	const seen = machine.observe(Number(line));
	onTestFinished(() => {
		if (typeof seen !== "string") machine.signal(seen, "SIGKILL");
	});
	return Number(line);
}

async function ended(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	child.kill("SIGKILL");
	await once(child, "exit");
}

test.runIf(process.platform === "linux")(
	"a program that was given a worker's variables and provably descends from none is left alone, by its run and by the next start",
	async () => {
		const dataDir = temporaryDirectory();
		const host = new Host({ dataDir, workers: ["sleeps.sh"] });
		const { pids, runId } = await host.up();
		const variables = variablesOf(pids[0] as number);
		expect(variables[0]).toContain(runId);
		const copied = Object.fromEntries(
			variables.map((entry) => entry.split("=") as [string, string]),
		);
		const script = ["-c", BY_A_SHELL, "sh", ...variables];
		const strangers = [
			// By a program that is younger than the host and has other variables.
			await started("sh", script, {}, true),
			// In a session that is older than the host.
			await started("sh", ["-c", "echo $$; exec sleep 100000"], copied, false),
		];
		const marked = (): readonly number[] =>
			machine
				.marked()
				.filter(({ marker }) => marker.runId === runId)
				.map(({ identity }) => identity.pid);
		expect(marked()).toEqual(pids);
		await host.kill();
		const run = await openRun({ dataDir });
		onTestFinished(() => run.close());
		expect(run.cleanupReport.reaped.map(({ pid }) => pid)).toEqual(pids);
		expect(pids.map(isAlive)).toEqual([false]);
		expect(strangers.map(isAlive)).toEqual([true, true]);
	},
);
