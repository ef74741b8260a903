import { once } from "node:events";
import { attach } from "@snakepit/control";
import { expect, onTestFinished, test } from "vitest";
import type { Instrument } from "../../src/contract/instrument.ts";
import { type RunHistory, readHistory } from "../../src/inspect/history.ts";
import type { PoolOptions } from "../../src/options/pool-options.ts";
import type { Pool } from "../../src/pool/pool.ts";
import { openRun } from "../../src/run/open-run.ts";
import type { Run } from "../../src/run/run.ts";
import type { RunOptions } from "../../src/run/run-options.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";
import { controlledHost } from "../control/controlled-host.ts";
import { lineAdapter } from "../control/line-adapter.ts";

async function opened(options: RunOptions = {}): Promise<Run> {
	const run = await openRun({ dataDir: temporaryDirectory(), ...options });
	onTestFinished(() => run.close({ manner: "forced" }));
	return run;
}

function pool(run: Run, options: Partial<PoolOptions> = {}): Promise<Pool> {
	return run.createPool({
		...{ name: "lines", adapter: lineAdapter(), size: 1, heartbeat: "off" },
		...{ output: { echo: "none" }, ...options },
	});
}

async function history(
	dataDir: string,
	failedCallsPerRun?: number,
): Promise<RunHistory> {
	for await (const found of readHistory({ dataDir, failedCallsPerRun }))
		return found;
	throw new Error("there is no run");
}

const TRACE = "0af7651916cd43dd8448eb211c80319c";

test("failed and late calls are on record with what they were called with, and those that succeed or are given up are not", async () => {
	const run = await opened();
	const lines = await pool(run, {
		observe: { args: (command, args) => ({ command, args }) },
	});
	await lines.execute("echo", 1);
	await lines
		.execute("fail", "a.png", {
			traceContext: { traceparent: `00-${TRACE}-b7ad6b7169203331-01` },
		})
		.catch(() => {});
	const late = lines.execute("sleep", 200, { timeoutMs: 50 });
	await expect(late).rejects.toMatchObject({ code: "CALL_TIMEOUT" });
	const abort = new AbortController();
	const { signal } = abort;
	const given = lines.execute("sleep", 1, { signal });
	abort.abort();
	await expect(given).rejects.toMatchObject({ code: "CALL_ABORTED" });
	const expected = [
		{
			...{ pool: "lines", callId: "c2", command: "fail", outcome: "failed" },
			...{ code: "TOOL_FAILED", message: "it was asked to", ran: "maybe" },
			args: { command: "fail", args: "a.png" },
			...{ attempts: 1, workerId: "lines-0", traceId: TRACE, alike: 0 },
			incarnation: expect.stringMatching(/^\w{7}-\d+$/),
		},
		{
			...{ callId: "c3", command: "sleep", outcome: "timed_out" },
			...{ code: "CALL_TIMEOUT", args: { command: "sleep", args: 200 } },
		},
	];
	expect((await history(run.dataDir)).failedCalls).toMatchObject(expected);
	await run.close();
	const ended = await history(run.dataDir);
	expect(ended.failedCalls).toMatchObject(expected);
	expect((await history(run.dataDir, 1)).failedCalls).toEqual(
		ended.failedCalls.slice(-1),
	);
});

test("the trace is that of an instrument, which knows it before the caller", async () => {
	const run = await opened();
	const instrument: Instrument = {
		attach: () => ({
			hear: () => {},
			accept: () => ({
				traceId: TRACE,
				queued: () => {},
				dispatched: () => ({
					traceContext: {},
					backCall: (_, call) => call(),
					cancelled: () => {},
					released: () => {},
				}),
				retried: () => {},
				settled: () => {},
			}),
		}),
	};
	const lines = await pool(run, { instruments: [instrument] });
	await lines.execute("fail").catch(() => {});
	expect((await history(run.dataDir)).failedCalls).toMatchObject([
		{ traceId: TRACE },
	]);
});

test("without content, the codes alone are on record", async () => {
	const run = await opened({ history: { content: "left_out" } });
	const lines = await pool(run, { observe: { args: (_, args) => args } });
	await lines.execute("fail", "secret").catch(() => {});
	await run.close();
	const { failedCalls } = await history(run.dataDir);
	expect(failedCalls).toMatchObject([{ code: "TOOL_FAILED", callId: "c1" }]);
	expect(JSON.stringify(failedCalls)).not.toMatch(
		/secret|asked|"(command|message|traceback|args)"/,
	);
});

test("a program that is killed leaves its failed calls in the ledger, and a client of a living one gets them", async () => {
	const host = await controlledHost({});
	using client = await attach({ dataDir: host.dataDir });
	const events = client.events();
	await events.next();
	host.call("fail", 1);
	for await (const update of events)
		if (update.kind === "event" && update.event.type === "call.settled") break;
	const [failed] = await client.failedCalls();
	expect(failed).toMatchObject({ command: "fail", code: "TOOL_FAILED" });
	expect(await client.failedCalls({ command: "echo" })).toEqual([]);
	// One of the ledger's commits, which it makes at most a second later.
	let recorded: RunHistory["failedCalls"] = [];
	while (recorded.length === 0)
		({ failedCalls: recorded } = await history(host.dataDir));
	expect(recorded).toEqual([failed]);
	const exit = once(host.child, "exit");
	host.child.kill("SIGKILL");
	await exit;
	const dead = await history(host.dataDir);
	expect(dead).toMatchObject({ state: "host_died", failedCalls: [failed] });
});

test("ten thousand calls that fail at once are counted, a few are kept, and they cost a few commits", async () => {
	const run = await opened();
	const lines = await pool(run, { queue: { limit: 1 } });
	const { commits } = run.statistics().registry;
	const all = Array.from({ length: 10_000 }, () =>
		lines.execute("sleep", 100).catch(({ code }: { code: string }) => code),
	);
	const codes = await Promise.all(all);
	const refused = codes.filter((code) => code === "QUEUE_FULL").length;
	expect(refused).toBeGreaterThan(9_900);
	await run.close();
	const { failedCalls } = await history(run.dataDir);
	const counted = failedCalls.reduce((sum, { alike }) => sum + 1 + alike, 0);
	expect(counted).toBe(refused);
	expect(failedCalls.length).toBeLessThan(100);
	expect(run.statistics().registry.commits - commits).toBeLessThan(20);
});
