import { describe, expect, test } from "vitest";
import type { WorkerLogRecord } from "../../src/adapter.ts";
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
		await virtual.close();
	});

	test("is left to a handler that the worker has for it", async () => {
		const virtual = await open();
		await log(virtual, { handledBy: "worker" });
		expect(virtual.host.echoed).toEqual([]);
		expect(virtual.events.of("worker.logged")).toHaveLength(1);
		await virtual.close();
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
		await virtual.close();
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
		await hearing.close();
	});

	test("is not needed where the pool is set to be quiet", async () => {
		const quiet = await open({ output: { echo: "none" } });
		await log(quiet);
		quiet.adapter.workers[0]?.crash();
		await quiet.clock.advance(10_000);
		expect(quiet.host.echoed).toEqual([]);
		await quiet.close();
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
		await virtual.close();
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
		await virtual.close();
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
