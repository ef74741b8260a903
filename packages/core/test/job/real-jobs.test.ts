import { spawn } from "node:child_process";
import { once } from "node:events";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { readHistory } from "../../src/inspect/history.ts";
import { runJob } from "../../src/run/open-run.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";
import { lives, realRun } from "./real-run.ts";

const shell = (script: string): readonly string[] => ["sh", "-c", script];

test("a program has the directory and the environment that it is given, and no secret of this program", async () => {
	const { run } = await realRun();
	const cwd = realpathSync(temporaryDirectory());
	process.env["SNAKEPIT_SECRET"] = "hidden";
	try {
		const print = shell("echo $PWD $SNAKEPIT_SECRET $EXTRA");
		const env = { EXTRA: "given", PATH: process.env["PATH"] };
		expect(await run.job(print, { cwd, env }).text()).toBe(`${cwd} given\n`);
		const inheritEnv = ["SNAKEPIT_SECRET"];
		expect(await run.job(print, { cwd, inheritEnv }).text()).toBe(
			`${cwd} hidden\n`,
		);
	} finally {
		delete process.env["SNAKEPIT_SECRET"];
	}
});

test("okCodes are the codes that are fine", async () => {
	const { run } = await realRun();
	const none = shell("echo a | grep b");
	const fine = await run.job(none, { okCodes: [0, 1] }).result();
	expect(fine.exit).toEqual({ kind: "code", code: 1 });
	await expect(run.job(none).result()).rejects.toMatchObject({
		code: "JOB_FAILED",
	});
});

test("a program that cannot be executed fails as such", async () => {
	const { run, events } = await realRun();
	await expect(run.job(["no-such-program"]).text()).rejects.toMatchObject({
		...{ name: "StartError", code: "SPAWN_FAILED", ran: "no" },
	});
	await expect(
		run.job(["true"], { cwd: "/no/such/place" }).text(),
	).rejects.toMatchObject({ code: "SPAWN_FAILED" });
	const codes = events.of("job.settled").map(({ code }) => code);
	expect(codes).toEqual(["SPAWN_FAILED", "SPAWN_FAILED"]);
});

test("a time limit ends a program and its children that ignore SIGTERM", async () => {
	const { run } = await realRun();
	const script = 'trap "" TERM; sleep 1000 & echo $!; wait';
	const job = run.job(shell(script), { timeoutMs: 500, killAfterMs: 100 });
	const pids: number[] = [];
	const reading = async (): Promise<void> => {
		for await (const line of job.lines()) pids.push(Number(line));
	};
	await expect(reading()).rejects.toMatchObject({
		...{ code: "JOB_TIMEOUT", exit: { kind: "signal", signal: "SIGKILL" } },
	});
	expect(pids).toHaveLength(1);
	expect(pids.map(lives)).toEqual([false]);
});

/**
 * Ends its child by a signal of its own, and says how that ended; the signal that it gets itself would kill the child.
 * The child may be ready before the next command here, so that its pid is $!, which the command that starts it sets.
 */
const SERVER = `
	trap 'kill -USR1 $!; wait $!; echo server ended in order; exit 0' TERM INT
	sh -c 'trap "echo child ended in order; exit 0" USR1; echo ready; while :; do sleep 0.05; done' &
	while :; do wait; done
`;
/** Killed by the signal; what it started is not. */
const PIPELINE = `
	sh -c 'trap "exit 0" TERM; echo ready >&2; while :; do sleep 0.05; done' |
	sh -c 'trap "echo flushed; exit 0" TERM; echo ready; while :; do sleep 0.05; done'
	true
`;

test.each([
	["a server", SERVER, {}, ["child ended in order", "server ended in order"]],
	[
		"a server that takes another signal",
		SERVER,
		{ signal: "SIGINT" },
		["child ended in order", "server ended in order"],
	],
	["a server", SERVER, { to: "group" }, ["server ended in order"]],
	["a pipeline", PIPELINE, {}, ["flushed"]],
] as const)("%s is ended in order: %#", async (_what, script, stop, said) => {
	const { run } = await realRun();
	const caller = new AbortController();
	const { signal } = caller;
	const job = run.job(shell(script), { signal, stop, killAfterMs: 30_000 });
	const lines: string[] = [];
	const reading = async (): Promise<void> => {
		for await (const line of job.lines()) {
			if (line === "ready") caller.abort();
			else lines.push(line);
		}
	};
	await expect(reading()).rejects.toMatchObject({ code: "JOB_ABORTED" });
	expect(lines).toEqual(said);
});

test("an unknown signal of a job's stop is named", async () => {
	const { run } = await realRun();
	expect(() =>
		run.job(["true"], { stop: { signal: "SIGKILL" as "SIGTERM" } }),
	).toThrow(/run.job stop: "signal" must be .*"SIGINT"/);
});

test("jobs wait for their turn, and thirty of them spend no budget", async () => {
	const { run, events } = await realRun({ jobs: { concurrency: 4 } });
	let most = 0;
	const results = Array.from({ length: 30 }, async () => {
		await run.job(["true"]).result();
		most = Math.max(most, run.statistics().jobs.running);
	});
	await Promise.all(results);
	expect(most).toBeLessThanOrEqual(4);
	expect(run.statistics()).toMatchObject({
		jobs: { succeeded: 30, waiting: 0, running: 0 },
		registry: { active: 0, ended: 30 },
	});
	expect(events.of("job.settled")).toHaveLength(30);
});

test("the run closes when its jobs have ended, and its history has them", async () => {
	const { run, dataDir } = await realRun();
	const job = run.job(shell("read line; echo $line"), { input: "done" });
	const text = job.text();
	await run.close();
	expect(await text).toBe("done\n");
	const [past] = await Array.fromAsync(readHistory({ dataDir }));
	expect(past).toMatchObject({
		clean: true,
		workers: [{ pool: "(jobs)", workerId: "job-1", end: { reason: "exited" } }],
	});
	await expect(run.job(["true"]).text()).rejects.toMatchObject({
		code: "JOB_RUN_CLOSED",
	});
});

describe("runJob", () => {
	test("opens a run, and resolves to what the program printed", async () => {
		const dataDir = temporaryDirectory();
		const report = await runJob(["tr", "a-z", "A-Z"], {
			...{ dataDir, input: "hello" },
		});
		expect(report).toMatchObject({
			...{ stdout: "HELLO", exit: { kind: "code", code: 0 } },
		});
		const [past] = await Array.fromAsync(readHistory({ dataDir }));
		expect(past).toMatchObject({ clean: true });
	});

	test("joins the run that is open, with its options", async () => {
		const { dataDir, events } = await realRun();
		await runJob(["true"], { dataDir });
		expect(events.of("run.started")).toHaveLength(1);
		await expect(
			runJob(["true"], { dataDir, jobs: { concurrency: 99 } }),
		).rejects.toMatchObject({ code: "RUN_OPTION_CONFLICT" });
	});

	test("checks everything before it starts anything", async () => {
		const code = "INVALID_OPTION";
		await expect(runJob([])).rejects.toMatchObject({ code });
		await expect(
			runJob("true" as unknown as readonly string[]),
		).rejects.toMatchObject({ code });
		await expect(runJob([""])).rejects.toMatchObject({ code });
		await expect(runJob(["true"], { okCodes: [256] })).rejects.toMatchObject({
			code,
		});
		await expect(
			runJob(["true"], { timeoutMS: 5 } as object),
		).rejects.toMatchObject({
			code: "UNKNOWN_OPTION",
			message: expect.stringContaining('Did you mean "timeoutMs"?'),
		});
	});
});

describe("a program with a job", () => {
	const HOST = join(import.meta.dirname, "job-host.ts");
	async function ends(...habit: readonly string[]) {
		const dataDir = temporaryDirectory();
		const child = spawn(process.execPath, [HOST, dataDir, ...habit], {
			stdio: ["ignore", "pipe", "pipe"],
			env: { ...process.env, TMPDIR: dataDir },
		});
		const [[code], out, err] = await Promise.all([
			once(child, "exit"),
			textOf(child.stdout),
			textOf(child.stderr),
		]);
		return { code, out, err };
	}

	test("stays open until the job has ended and is read", async () => {
		expect(await ends("reads")).toEqual({
			...{ code: 0, out: "hello\n", err: "" },
		});
	});

	test("ends by a failure that it does not ask for", async () => {
		const { code, err } = await ends("forgets");
		expect(code).toBe(1);
		expect(err).toContain("JOB_FAILED");
	});
});
