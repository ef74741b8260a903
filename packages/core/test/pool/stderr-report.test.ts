import { describe, expect, test } from "vitest";
import type { WorkerLogRecord } from "../../src/adapter.ts";
import { StartError } from "../../src/contract/errors.ts";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import type { PoolOptions } from "../../src/options/pool-options.ts";
import { StderrReport } from "../../src/pool/observe/stderr-report.ts";
import { type ScriptedCall, scripts } from "../../src/testing.ts";
import { outcome, type VirtualPool, virtualPool } from "./virtual-pool.ts";

const RECORD: WorkerLogRecord = {
	level: "warning",
	logger: "shop",
	message: "no price for tea",
	wallMs: 0,
};

const commands = {
	crash: scripts.crash,
	hangIgnoringAbort: scripts.hangIgnoringAbort,
	/** Logs what it is given. */
	log: ({ args, worker }: ScriptedCall): void => {
		const { message, ...fields } = args as WorkerLogRecord;
		worker.log(message, fields);
	},
};

function open(options: Partial<PoolOptions> = {}): Promise<VirtualPool> {
	return virtualPool(
		{ commands },
		{ name: "p", output: { echo: "stderr" }, ...options },
	);
}

async function log(
	{ pool, clock }: VirtualPool,
	record: Partial<WorkerLogRecord> = {},
): Promise<void> {
	const call = pool.execute("log", { ...RECORD, ...record });
	await clock.advance(10);
	await call;
}

describe("a record of a worker that no listener shows", () => {
	test("is on standard error from WARNING on, with worker, call and traceback", async () => {
		const virtual = await open();
		for (const level of ["debug", "info"] as const)
			await log(virtual, { level });
		expect(virtual.host.echoed).toEqual([]);
		await log(virtual, { callId: "c1" });
		await log(virtual, {
			level: "critical",
			callId: "c2",
			message: "two\nlines",
			traceback: "Traceback:\n  in till\nKeyError: 'tea'\n",
		});
		expect(virtual.host.echoed).toEqual([
			"[p-0] WARNING shop (call c1): no price for tea",
			"[p-0] CRITICAL shop (call c2): two\n[p-0] lines\n[p-0] Traceback:\n[p-0]   in till\n[p-0] KeyError: 'tea'",
		]);
	});

	test("is left to a handler that the worker has for it", async () => {
		const virtual = await open();
		await log(virtual, { handledBy: "worker" });
		expect(virtual.host.echoed).toEqual([]);
		expect(virtual.events.of("worker.logged")).toHaveLength(1);
	});

	test("is cut in its middle when it is long", () => {
		const text = new StderrReport().textOf({
			type: "worker.logged",
			wallMs: 0,
			pool: "p",
			workerId: "p-0",
			incarnation: "r-1",
			record: { ...RECORD, message: "m", traceback: "x".repeat(100_000) },
		});
		expect(text).toMatch(
			/^\[p-0\] WARNING shop: m\n\[p-0\] x{8100,8200}\n\[p-0\] … 672\d\d characters are left out here …\n\[p-0\] x{24576}$/,
		);
	});
});

describe("the taker of a record", () => {
	test("is a subscriber to its type, as long as it is subscribed", async () => {
		const virtual = await open();
		const received: unknown[] = [];
		const leave = virtual.pool.on("worker.logged", ({ record }) =>
			received.push(record.message),
		);
		await log(virtual);
		expect(virtual.host.echoed).toEqual([]);
		leave();
		await log(virtual);
		expect(received).toHaveLength(1);
		expect(virtual.host.echoed).toHaveLength(1);
	});

	test("is a listener whose `shows` names its event, and not one that is given every event", async () => {
		const shows = ["worker.logged"] as const;
		const taking = await open({ onEvent: Object.assign(() => {}, { shows }) });
		await log(taking);
		expect(taking.host.echoed).toEqual([]);
		await taking.close();
		const hearing = await open({ onEvent: () => {} });
		hearing.pool.on(() => {});
		hearing.pool.on("worker.exited", () => {});
		await log(hearing);
		expect(hearing.host.echoed).toHaveLength(1);
	});

	test("is not needed where the pool is set to be quiet", async () => {
		const quiet = await open({ output: { echo: "none" } });
		await log(quiet);
		quiet.adapter.workers[0]?.crash();
		await quiet.clock.advance(10_000);
		expect(quiet.host.echoed).toEqual([]);
	});
});

describe("an unwanted end", () => {
	test("is on standard error, with what it cost", async () => {
		const virtual = await open({ size: 2 });
		const call = outcome(virtual.pool.execute("crash"));
		await virtual.clock.advance(10_000);
		await call;
		expect(virtual.host.echoed).toEqual([
			expect.stringMatching(
				/^\[snakepit\] Worker p-0 \(pid \d+\) was ended by SIGSEGV, 0\.0 s after it was ready, while it ran a call\.$/,
			),
		]);
		await virtual.close();
		expect(virtual.host.echoed).toHaveLength(1);
	});

	test("is explained where the pool decided it", async () => {
		const virtual = await open({ calls: { cancelGraceMs: 50 } });
		const call = outcome(
			virtual.pool.execute("hangIgnoringAbort", {}, { timeoutMs: 1_000 }),
		);
		await virtual.clock.advance(20_000);
		expect(await call).toMatchObject({ code: "CALL_TIMEOUT" });
		expect(virtual.host.echoed).toEqual([
			expect.stringMatching(
				/because call \S+ \(hangIgnoringAbort\) did not finish within 50 ms after it was cancelled/,
			),
		]);
	});

	test("is not explained by what came of it", () => {
		const report = new StderrReport();
		const ref = { pool: "p", workerId: "p-0", incarnation: "r-1", wallMs: 0 };
		const message = "its conversation broke";
		const exited = {
			...ref,
			type: "worker.exited",
			pid: 7,
			exit: { kind: "signal", signal: "SIGKILL" },
			callsLost: 0,
			lifetimeMs: 0,
			tail: [],
		} as const;
		const condemned = {
			...ref,
			type: "worker.condemned",
			reason: "broken",
			message,
		} as const;
		report.textOf(condemned);
		expect(
			report.textOf({ ...exited, reason: "exited", killer: "none" }),
		).not.toContain(message);
		report.textOf(condemned);
		expect(
			report.textOf({ ...exited, reason: "broken", killer: "stop_ladder" }),
		).toContain(`because ${message}`);
	});

	test("is left to a subscriber to its type", async () => {
		const virtual = await open();
		virtual.pool.on("worker.exited", () => {});
		virtual.adapter.workers[0]?.crash();
		await virtual.clock.advance(10_000);
		expect(virtual.host.echoed).toEqual([]);
	});

	test("is none of a worker that is recycled, retired or closed", async () => {
		const virtual = await open({ recycle: { afterCalls: 1 } });
		await log(virtual, { level: "info" });
		await virtual.clock.advance(60_000);
		await virtual.close();
		expect(virtual.events.of("worker.exited").length).toBeGreaterThan(1);
		expect(virtual.host.echoed).toEqual([]);
	});
});

test("a start that fails while the pool is open is on standard error; one that createPool rejects with is not", async () => {
	let fails = false;
	const virtual = await virtualPool(
		{
			commands,
			connect: async () => {
				if (fails) throw new Error("no model");
			},
		},
		{ name: "p", output: { echo: "stderr" } },
	);
	fails = true;
	virtual.adapter.workers[0]?.crash();
	await virtual.clock.advance(2_000);
	await virtual.close();
	const failures = virtual.events.of("worker.start_failed");
	expect(failures.length).toBeGreaterThan(0);
	const said = virtual.host.echoed.filter((text) =>
		/Worker p-0 started, but .*could not connect: no model/.test(text),
	);
	expect(said.length).toBeGreaterThan(0);
	for (const text of said) {
		expect(text).not.toContain("Its last lines");
		expect(text.match(/Worker p-0/g)).toHaveLength(1);
	}
});

describe("the lines for one event", () => {
	const ref = { pool: "p", workerId: "p-0", incarnation: "r-1", wallMs: 0 };
	const exited = {
		...ref,
		type: "worker.exited",
		pid: 7,
		exit: { kind: "code", code: 0 },
		reason: "exited",
		killer: "none",
		callsLost: 0,
		lifetimeMs: 1_250,
		tail: [],
	} as const satisfies SnakepitEvent;

	const noGuard = {
		type: "protection.unavailable",
		wallMs: 0,
		protection: "guard",
		reason: "3 guards in a row were lost.",
	} as const satisfies SnakepitEvent;

	test("the loss of the guard is reported if there was one", () => {
		const report = new StderrReport();
		report.textOf({
			...{ type: "protection.ended", wallMs: 0, protection: "guard", pid: 9 },
			exit: { kind: "code", code: 67 },
			how: "lost",
			loss: "it failed",
		});
		expect(report.textOf(noGuard)).toBe(
			"[snakepit] The run has no guard now. 3 guards in a row were lost.",
		);
	});

	test.each<[string, SnakepitEvent, string | undefined]>([
		["an exit in order", exited, undefined],
		[
			"an exit in order that lost calls",
			{ ...exited, callsLost: 2 },
			"[snakepit] Worker p-0 (pid 7) exited with code 0, 1.3 s after it was ready, while it ran 2 calls.",
		],
		[
			"a worker that cannot be killed",
			{ ...exited, exit: undefined, reason: "stuck" },
			"[snakepit] Worker p-0 (pid 7) was sent SIGKILL and is still there, 1.3 s after it was ready.",
		],
		[
			"a preloaded parent that is lost",
			{
				type: "preload.ended",
				wallMs: 0,
				pool: "p",
				pid: 9,
				exit: { kind: "signal", signal: "SIGSEGV" },
				how: "lost",
			},
			"[snakepit] The preloaded parent of pool p (pid 9) was ended by SIGSEGV. Its workers end with it; the next worker start creates a new one.",
		],
		[
			"one that is released",
			{
				type: "preload.ended",
				wallMs: 0,
				pool: "p",
				pid: 9,
				exit: { kind: "code", code: 0 },
				how: "released",
			},
			undefined,
		],
		[
			"a companion that is lost",
			{
				type: "companion.ended",
				wallMs: 0,
				pool: "p",
				pid: 9,
				exit: { kind: "code", code: 1 },
				how: "lost",
			},
			"[snakepit] The companion of pool p (pid 9) exited with code 1. Its workers end with it, and Snakepit starts a new one.",
		],
		[
			"one that is released with its pool",
			{
				type: "companion.ended",
				wallMs: 0,
				pool: "p",
				pid: 9,
				exit: { kind: "code", code: 0 },
				how: "released",
			},
			undefined,
		],
		[
			"one that cannot be started anew",
			{
				type: "companion.unavailable",
				wallMs: 0,
				pool: "p",
				code: "SPAWN_FAILED",
				reason: "There is no such program.\nIts last lines:\n  | hello",
				failures: 1,
			},
			"[snakepit] Pool p has no companion: There is no such program. Calls wait while Snakepit tries again.",
		],
		[
			"a guard that is lost",
			{
				...{ type: "protection.ended", wallMs: 0, protection: "guard", pid: 9 },
				exit: { kind: "code", code: 68 },
				how: "lost",
				loss: "its middle process was ended by a signal",
			},
			"[snakepit] The guard (pid 9) was lost: its middle process was ended by a signal. Its workers end with it, and Snakepit starts new ones.",
		],
		["a guard that there never was", noGuard, undefined],
		[
			"a watchdog that is lost",
			{
				...{ type: "protection.ended", wallMs: 0, protection: "watchdog" },
				...{ pid: 9, exit: { kind: "code", code: 68 }, how: "lost" },
				loss: "it failed",
			},
			undefined,
		],
		[
			"a start that was withdrawn",
			{
				...{ ...ref, type: "worker.start_failed" },
				error: new StartError({
					...{ code: "START_WITHDRAWN", ran: "no" },
					message: "Worker p-0 is not needed any more.",
				}),
			},
			undefined,
		],
		[
			"a reload of one file",
			{
				...{ type: "pool.reloaded", wallMs: 0, pool: "p", durationMs: 12.4 },
				files: ["/project/tools.py"],
			},
			"[snakepit] Pool p replaced its workers after tools.py changed (12 ms).",
		],
		[
			"a reload that failed, of three files",
			{
				...{ type: "pool.reload_failed", wallMs: 0, pool: "p" },
				files: ["/project/tools.py", "/project/b.py", "c.py"],
				error: new Error("invalid syntax"),
			},
			"[snakepit] Pool p keeps its old workers: no new one started after tools.py and 2 more changed. Snakepit tries again when you save.",
		],
	])("%s", (_, event, text) => {
		expect(new StderrReport().textOf(event)).toBe(text);
	});
});

test.each([
	[
		"Worker p-0 could not start: no model",
		"[snakepit] Worker p-0 could not start: no model",
	],
	[
		"There is no interpreter.",
		"[snakepit] Worker p-0 could not be started: There is no interpreter.",
	],
])("a start that failed with %j names the worker once", (message, text) => {
	const failed = {
		...{ type: "worker.start_failed", wallMs: 0, pool: "p" },
		...{ workerId: "p-0", error: new Error(message) },
	} as unknown as SnakepitEvent;
	const started = { type: "pool.started" } as unknown as SnakepitEvent;
	const report = new StderrReport();
	report.textOf(started);
	expect(report.textOf(failed)).toBe(text);
});
