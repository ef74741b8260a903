/** A run seen, and acted on, from another process. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { attach, type RunUpdate } from "@snakepit/control";
import { describe, expect, test } from "vitest";
import { readHistory } from "../../src/inspect/history.ts";
import type { PoolOptions } from "../../src/options/pool-options.ts";
import { VERSION } from "../../src/os/gen/version.ts";
import { openRun } from "../../src/run/open-run.ts";
import { EventRecorder } from "../../src/testing.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";
import { controlledHost } from "./controlled-host.ts";
import { lineAdapter } from "./line-adapter.ts";

/** This program, as a client. */
const SELF =
	process.platform === "linux"
		? `a test (pid ${process.pid}, user ${process.getuid?.() === 0 ? "root" : userInfo().username})`
		: `a test (says pid ${process.pid})`;

const ALL = { scopes: ["read", "logs", "act", "call"] } as const;

/** The first update that a test waits for. */
async function until<Found>(
	updates: AsyncIterable<RunUpdate>,
	find: (update: RunUpdate) => Found | undefined,
): Promise<Found> {
	for await (const update of updates) {
		const found = find(update);
		if (found !== undefined) return found;
	}
	throw new Error("the stream ended before");
}

describe("from another process", () => {
	test("a run shows its workers, what they run, what waits and why; calls and acts do what they say", async () => {
		const host = await controlledHost({ control: ALL });
		const client = await host.client();
		const { run, verdict } = await client.state();
		expect(run).toMatchObject({
			...{ runId: host.runId, pid: host.child.pid, dataDir: host.dataDir },
			...{ program: "host-program.ts", scopes: ALL.scopes },
			protections: process.platform === "linux" ? ["guard"] : [],
			versions: { node: process.versions.node, snakepit: VERSION },
		});
		expect(verdict.text).toBe("2 workers, 0 busy; no call waits.");
		expect(run.pools[0]?.workers[0]).toMatchObject({
			...{ workerId: "lines-0", state: "ready", running: [] },
			usage: { residentBytes: expect.any(Number) },
		});
		expect(
			await client.call({ pool: "lines", command: "echo", args: [1] }),
		).toEqual([1]);
		await expect(
			client.call({ pool: "lines", command: "fail" }),
		).rejects.toMatchObject({ code: "TOOL_FAILED", ran: "maybe" });
		expect(await client.tools("lines")).toMatchObject([{ name: "sleep" }]);

		for (let index = 0; index < 4; index++) host.call("sleep", 600_000);
		const busy = await until(client.events(), (update) =>
			update.kind === "state" && update.state.run.pools[0]?.queue.waiting === 2
				? update.state
				: undefined,
		);
		expect(busy.verdict).toMatchObject({
			level: "busy",
			text: expect.stringMatching(
				/^lines: 2 calls wait, both are busy; the oldest has waited \d/,
			),
		});
		expect(busy.run.pools[0]).toMatchObject({
			queue: { byCommand: [{ command: "sleep", waiting: 2 }], counted: 2 },
			workers: [
				{ running: [{ command: "sleep", cancelled: false, sessionId: null }] },
				{ running: [{ command: "sleep" }] },
			],
		});

		const events = client.events();
		await events.next();
		const recycled = client.act("lines", "restart", { worker: "lines-0" });
		const types: string[] = [];
		await until(events, (update) => {
			if (update.kind !== "event") return undefined;
			const { type, by, code } = update.event;
			types.push(type);
			if (type === "control.requested") expect(by).toBe(SELF);
			if (type === "call.settled") expect(code).toBe("WORKER_REPLACED");
			return type === "worker.ready" ? true : undefined;
		});
		await recycled;
		expect(types).toEqual(
			expect.arrayContaining([
				...["control.requested", "pool.restart_requested"],
				...["worker.exited", "call.settled"],
			]),
		);
		await client.act("lines", "pause");
		expect((await client.state()).run.pools[0]?.phase).toBe("paused");
		await client.act("lines", "resume");
		await client.act("lines", "resize", { max: 3 });
		await client.act("lines", "recycle", {
			worker: "lines-0",
			manner: "forced",
		});
		expect((await client.state()).run.pools[0]?.size).toEqual({
			min: 2,
			max: 3,
		});
		await expect(
			client.act("lines", "restart", { worker: "lines-9" }),
		).rejects.toMatchObject({ code: "WORKER_NOT_FOUND" });
		await client.act("lines", "kill");
		host.child.stdin?.end();
		await host.exited();
		expect(host.directory()).toBeUndefined();
	}, 60_000);

	test("a killed host is noticed at once; its leftovers cannot be attached to, and the next start removes them", async () => {
		const host = await controlledHost({ control: true });
		const client = await host.client();
		const place = host.directory() ?? "";
		for (const name of ["control.sock", "control.json"])
			expect(statSync(join(place, name)).mode & 0o777).toBe(0o600);
		const events = client.events();
		await events.next();
		const killedAt = performance.now();
		host.child.kill("SIGKILL");
		await expect(until(events, () => undefined)).rejects.toMatchObject({
			code: "HOST_GONE",
		});
		// By the end of its connection: of one that is only silent something else is said.
		expect(performance.now() - killedAt).toBeLessThan(10_000);
		await expect(client.state()).rejects.toMatchObject({ code: "HOST_GONE" });
		const { dataDir } = host;
		await expect(attach({ dataDir })).rejects.toMatchObject({
			code: "NO_SUCH_RUN",
			message: expect.stringContaining("There is none"),
		});
		expect(existsSync(place)).toBe(true);
		await using _ = await openRun({ dataDir });
		expect(existsSync(place)).toBe(false);
	});

	test("a stopped host is silent after the time that the client gives it, and answers again", async () => {
		const host = await controlledHost({ control: true });
		const client = await host.client(1_000);
		const events = client.events();
		await events.next();
		host.child.kill("SIGSTOP");
		await expect(until(events, () => undefined)).rejects.toMatchObject({
			code: "HOST_SILENT",
			message: expect.stringContaining("1000 ms"),
		});
		await expect(client.state()).rejects.toMatchObject({ code: "HOST_SILENT" });
		host.child.kill("SIGCONT");
		expect((await (await host.client()).state()).run.runId).toBe(host.runId);
	});

	test("ten thousand lines arrive, or are counted as lost; one worker's can be asked for alone", async () => {
		const host = await controlledHost({ control: true });
		const client = await host.client();
		const logs = client.logs();
		await logs.next();
		const other = client.logs({ worker: "nobody" });
		await other.next();
		const unwanted = other.next();
		host.call("print", 10_000);
		let lines = 0;
		for (
			let update = await logs.next();
			update.done !== true;
			update = await logs.next()
		) {
			if (update.value.kind === "lost") lines += update.value.records;
			else if (update.value.kind === "line") {
				expect(update.value.line).toMatchObject({
					...{ from: "stderr", pool: "lines", cut: false },
				});
				lines++;
			}
			if (lines === 10_000) break;
		}
		expect(lines).toBe(10_000);
		host.child.stdin?.end();
		await host.exited();
		await expect(unwanted).resolves.toMatchObject({ done: true });
	});

	test("a client may only what the program allows, with the token of this very run", async () => {
		const host = await controlledHost({ control: true });
		const client = await host.client();
		for (const ask of [
			() => client.act("lines", "kill"),
			() => client.call({ pool: "lines", command: "echo" }),
		])
			await expect(ask()).rejects.toMatchObject({ code: "SCOPE_NOT_ALLOWED" });
		const place = host.directory() ?? "";
		const record = readFileSync(join(place, "control.json"), "utf8");
		expect(JSON.parse(record).token).toMatch(/^[0-9a-f]{64}$/);
	});
});

test("a pool that is created while a client watches is also followed, and a closed one is not shown", async () => {
	const dataDir = temporaryDirectory();
	const { events, record } = new EventRecorder();
	await using run = await openRun({ dataDir, control: ALL, onEvent: record });
	using client = await attach({ dataDir, by: "a test" });
	expect((await client.state()).verdict.text).toBe("No pool is open.");
	const stream = client.events();
	await stream.next();
	const pool = await run.createPool({
		...{ name: "late", adapter: lineAdapter(), size: 1, heartbeat: "off" },
	});
	await until(stream, (update) =>
		update.kind === "event" && update.event.type === "pool.started"
			? true
			: undefined,
	);
	const logs = client.logs();
	await logs.next();
	const call = { pool: "late", command: "print", args: 1 };
	expect(await client.call(call)).toBe(1);
	expect((await logs.next()).value).toMatchObject({ line: { text: "line 0" } });
	await client.act("late", "drain", { drainMs: 1_000 });
	expect((await client.state()).run.pools).toEqual([]);
	await pool.close();
	expect(events.filter(({ type }) => type === "control.requested")).toEqual([
		expect.objectContaining({ act: "call", target: "print" }),
		{
			...{ type: "control.requested", wallMs: expect.any(Number) },
			...{ runId: run.runId, pool: "late", act: "drain", by: SELF },
		},
	]);
});

test("the ledger says who asked for what: the program, or a client with its pid and user", async () => {
	const dataDir = temporaryDirectory();
	const run = await openRun({ dataDir, control: ALL });
	using client = await attach({ dataDir, by: "a test" });
	const pool = await run.createPool({
		...{ name: "lines", adapter: lineAdapter(), size: 1, heartbeat: "off" },
	});
	await client.act("lines", "pause");
	pool.resume();
	await client.act("lines", "resize", { min: 1, max: 2 });
	await client.act("lines", "recycle", { worker: "lines-0" });
	await pool.recycle("all", { by: "the night shift" });
	await client.act("lines", "restart", { worker: "lines-0" });
	await client.call({ pool: "lines", command: "echo", args: 1 });
	await pool.close();
	await run.close();
	for await (const { acts } of readHistory({ dataDir }))
		expect(acts.map(({ type, by }) => [type, by])).toEqual([
			["pool.paused", SELF],
			["pool.resumed", "program"],
			["pool.resized", SELF],
			["pool.recycle_requested", SELF],
			["pool.recycle_requested", "the night shift"],
			["pool.restart_requested", SELF],
			["control.requested", SELF],
			["pool.closing", "program"],
		]);
});

test("a close that shortens another is recorded with who asked for it", async () => {
	const dataDir = temporaryDirectory();
	await using run = await openRun({ dataDir, control: ALL });
	using client = await attach({ dataDir, by: "a test" });
	const pool = await run.createPool({
		...{ name: "lines", adapter: lineAdapter(), size: 1, heartbeat: "off" },
	});
	const { events, record } = new EventRecorder();
	pool.on("pool.close_hurried", record);
	const call = pool.execute("sleep", 600_000);
	const failed = expect(call).rejects.toMatchObject({ code: "POOL_CLOSED" });
	const drained = pool.close({ drainMs: 600_000 });
	await client.act("lines", "kill");
	await Promise.all([drained, failed]);
	expect(events).toMatchObject([{ by: SELF, manner: "forced", drainMs: 0 }]);
});

test("of two pools of the same name the later one is shown, also after the end of the earlier one", async () => {
	const dataDir = temporaryDirectory();
	await using run = await openRun({ dataDir, control: true });
	using client = await attach({ dataDir, by: "a test" });
	const options: PoolOptions = {
		...{ name: "lines", adapter: lineAdapter(), heartbeat: "off" },
	};
	const earlier = await run.createPool({ ...options, size: 1 });
	await run.createPool({ ...options, size: 2 });
	const sizes = async (): Promise<readonly number[]> =>
		(await client.state()).run.pools.map(({ size }) => size.max);
	expect(await sizes()).toEqual([2]);
	await earlier.close();
	expect(await sizes()).toEqual([2]);
});

test("a call that runs shows its attempt, how long it waited, and the attempts that failed", async () => {
	const dataDir = temporaryDirectory();
	await using run = await openRun({ dataDir, control: true });
	using client = await attach({ dataDir, by: "a test" });
	const pool = await run.createPool({
		...{ name: "lines", adapter: lineAdapter(), size: 1, heartbeat: "off" },
	});
	const running = (attempt: number) =>
		until(client.events(), (update) =>
			update.kind === "state"
				? update.state.run.pools[0]?.workers
						.flatMap((worker) => worker.running)
						.find((call) => call.attempt === attempt)
				: undefined,
		);
	const retry = { attempts: 2, on: () => true };
	const abort = new AbortController();
	const { signal } = abort;
	const call = pool.execute("sleep", 600_000, { retry, signal });
	const failed = expect(call).rejects.toMatchObject({ code: "CALL_ABORTED" });
	expect(await running(1)).toMatchObject({
		...{ command: "sleep", waitedMs: expect.any(Number), failedAttempts: [] },
	});
	await pool.restart("lines-0");
	const { failedAttempts } = await running(2);
	expect(failedAttempts).toEqual([
		{
			...{ workerId: "lines-0", code: expect.stringMatching(/^WORKER_/) },
			...{ waitedMs: expect.any(Number), ranMs: expect.any(Number) },
			pauseMs: expect.any(Number),
		},
	]);
	abort.abort();
	await failed;
	await pool.close({ manner: "forced" });
});
