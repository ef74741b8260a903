import { expect, onTestFinished, test } from "vitest";
import { type RunHistory, readHistory } from "../../src/inspect/history.ts";
import type { PoolOptions } from "../../src/options/pool-options.ts";
import type { Pool } from "../../src/pool/pool.ts";
import { openRun } from "../../src/run/open-run.ts";
import type { Run } from "../../src/run/run.ts";
import type { RunOptions } from "../../src/run/run-options.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

async function opened(options: RunOptions = {}): Promise<Run> {
	const run = await openRun({ dataDir: temporaryDirectory(), ...options });
	onTestFinished(() => run.close({ manner: "forced" }));
	return run;
}

/** Workers that print a line and exit with code 3 when they are called. */
function pool(
	run: Run,
	script: string,
	options: Partial<PoolOptions> = {},
): Promise<Pool> {
	return run.createPool({
		size: 1,
		heartbeat: "off",
		output: { echo: "none" },
		...options,
		adapter: {
			name: "talks",
			launch: () => ({ executable: "/bin/sh", args: ["-c", script] }),
			connect: async (worker, signal) => {
				// Before this line the trap may not be set: the signal would end the shell itself.
				await worker.line(/^up$/, "stdout", signal);
				return {
					execute: async () => {
						process.kill(worker.pid, "SIGUSR1");
						await worker.exited;
						return await new Promise(() => {});
					},
					[Symbol.asyncDispose]: async () => {},
				};
			},
		},
	});
}

const DIES =
	'trap "echo paper jam >&2; exit 3" USR1; echo up; while :; do sleep 0.05; done';

async function history(run: Run): Promise<RunHistory> {
	for await (const found of readHistory({ dataDir: run.dataDir })) return found;
	throw new Error("there is no run");
}

test("the ledger says what a worker printed before it died, and what it was asked last", async () => {
	const run = await opened();
	const dying = await pool(run, DIES, { start: { maxRestarts: 0 } });
	await expect(dying.execute("print")).rejects.toMatchObject({
		code: "WORKER_EXITED",
	});
	await run.close();
	const [worker] = (await history(run)).workers;
	expect(worker?.end).toMatchObject({
		exit: { kind: "code", code: 3 },
		reason: "exited",
		killer: "none",
		tail: ["up", "paper jam"],
		lastCommand: "print",
	});
});

test("without content it says neither that nor what the program was called with", async () => {
	const run = await opened({ history: { content: "left_out" } });
	const dying = await pool(run, DIES, { start: { maxRestarts: 0 } });
	await dying.execute("print").catch(() => {});
	await run.close();
	const { program, workers } = await history(run);
	expect(program).toMatchObject({ node: process.versions.node });
	expect(program?.argv).toBeUndefined();
	expect(workers[0]?.end).toEqual({
		exit: { kind: "code", code: 3 },
		reason: "exited",
		killer: "none",
	});
});

test("of a worker that leaves in order the last lines are not kept", async () => {
	const run = await opened();
	const leaving = await pool(run, "echo up; exec sleep 1000");
	await leaving.recycle("all");
	await run.close();
	const { workers } = await history(run);
	expect(workers.map(({ end }) => [end?.reason, end?.tail])).toEqual([
		["recycled", undefined],
		["closed", undefined],
	]);
});

test("a spent restart budget is an incident, of the living run and of the ended one", async () => {
	const run = await opened();
	const spent = Promise.withResolvers<unknown>();
	const dying = await pool(run, DIES, { start: { maxRestarts: 0 } });
	dying.on("pool.restart_budget_spent", spent.resolve);
	await dying.execute("print").catch(() => {});
	const event = await spent.promise;
	expect((await history(run)).incidents).toEqual([event]);
	await run.close();
	expect((await history(run)).incidents).toEqual([event]);
	const next = await opened({ dataDir: run.dataDir });
	expect((await history(next)).incidents).toEqual([]);
});

test("calls write nothing to the ledger", async () => {
	const run = await opened();
	const answering = await run.createPool({
		heartbeat: "off",
		adapter: {
			name: "sleeps",
			launch: () => ({ executable: "sleep", args: ["1000"] }),
			connect: async () => ({
				execute: async (_command, args) => args,
				[Symbol.asyncDispose]: async () => {},
			}),
		},
	});
	const { commits } = run.statistics().registry;
	for (let call = 0; call < 100; call++) await answering.execute("echo", call);
	expect(run.statistics().registry.commits).toBe(commits);
});
