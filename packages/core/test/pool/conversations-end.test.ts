import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Adapter } from "../../src/adapter.ts";
import type { PoolOptions } from "../../src/options/pool-options.ts";
import type { Pool } from "../../src/pool/pool.ts";
import { createPool } from "../../src/run/open-run.ts";
import { EventRecorder } from "../../src/testing.ts";
import { asAWhole, inLines, stdioAdapter } from "../worker/stdio-adapters.ts";

function freshDirectory(): string {
	const path = mkdtempSync(join(tmpdir(), "snakepit-ends-"));
	onTestFinished(() => rmSync(path, { recursive: true, force: true }));
	return path;
}

async function poolOf(
	adapter: Adapter,
	options: Omit<PoolOptions, "adapter"> = {},
): Promise<{ readonly pool: Pool; readonly events: EventRecorder }> {
	const events = new EventRecorder();
	const pool = await createPool({
		adapter,
		size: 1,
		dataDir: freshDirectory(),
		output: { echo: "none" },
		onEvent: events.record,
		...options,
	});
	onTestFinished(() => pool.close({ manner: "forced" }));
	return { pool, events };
}

/** What was done to end the workers. */
const steps = (events: EventRecorder): readonly string[] =>
	events.of("worker.stop_step").map(({ step }) => step);

describe("a program that ends its output and then saves its data", () => {
	test("when it is asked to leave keeps its grace", async () => {
		const path = join(freshDirectory(), "data");
		const { pool, events } = await poolOf(
			stdioAdapter("answers-lines.cjs", inLines, [path]),
		);
		await pool.close();
		expect(existsSync(path)).toBe(true);
		expect(steps(events)).toEqual(["leave"]);
		expect(events.of("worker.exited")).toMatchObject([
			{ exit: { kind: "code", code: 0 }, reason: "closed", killer: "none" },
		]);
	});

	test("by itself keeps it too", async () => {
		const path = join(freshDirectory(), "data");
		const { pool, events } = await poolOf(
			stdioAdapter("answers-lines.cjs", inLines),
		);
		const call = pool.execute("endAfterSaving", path);
		await expect(call).rejects.toMatchObject({
			code: "WORKER_EXITED",
			ran: "maybe",
		});
		const { exit, reason, killer } = await events.waitFor("worker.exited");
		expect([exit, reason, killer]).toEqual([
			{ kind: "code", code: 0 },
			"exited",
			"none",
		]);
		expect(existsSync(path)).toBe(true);
		expect(steps(events)).toEqual([]);
		expect(await pool.execute("echo", "again")).toBe("again");
	});

	test("may still be hurried", async () => {
		const path = join(freshDirectory(), "data");
		const { pool, events } = await poolOf(
			stdioAdapter("answers-lines.cjs", inLines, [path]),
			{ stop: { killAfterMs: 60_000 } },
		);
		const leaving = events.waitFor("worker.stop_step");
		const closed = pool.close();
		await leaving;
		await pool.close({ manner: "forced" });
		await closed;
		expect(existsSync(path)).toBe(false);
		expect(steps(events)).toEqual(["leave", "kill"]);
		expect(events.of("worker.exited")).toMatchObject([
			{ reason: "closed", killer: "stop_ladder" },
		]);
	});
});

describe("an answer", () => {
	test("that its worker wrote before its end in order arrives, in each of 60 lives", {
		timeout: 120_000,
	}, async () => {
		const { pool } = await poolOf(
			stdioAdapter("one-answer-a-life.sh", asAWhole),
			{ size: 4, start: { backoffMs: 0, maxRestarts: 1_000 } },
		);
		const answers = await Promise.allSettled(
			Array.from({ length: 60 }, () => pool.execute("go")),
		);
		expect(answers).toEqual(
			Array(60).fill({ status: "fulfilled", value: 3_000_000 }),
		);
	});

	test("that will not come is awaited a second when something else holds the output open", async () => {
		const { pool, events } = await poolOf(
			stdioAdapter("leaves-its-answer-open.cjs", asAWhole),
		);
		const begunMs = performance.now();
		await expect(pool.execute("go")).rejects.toMatchObject({
			code: "WORKER_EXITED",
			message: expect.stringContaining("exited with code 0"),
		});
		expect(performance.now() - begunMs).toBeGreaterThan(900);
		expect(events.of("worker.exited")).toMatchObject([{ callsLost: 1 }]);
	});
});

describe("output that ends while the process lives", () => {
	test("ends its calls, and the worker when its grace is over", async () => {
		const { pool, events } = await poolOf(
			stdioAdapter("answers-lines.cjs", inLines),
			{ stop: { killAfterMs: 4_000 } },
		);
		await expect(pool.execute("endOutput")).rejects.toMatchObject({
			code: "WORKER_EXITED",
			ran: "maybe",
			message: expect.stringMatching(
				/cannot answer this call any more: .*output/,
			),
		});
		expect(await pool.execute("echo", "again")).toBe("again");
		expect(events.of("worker.exited")).toMatchObject([
			{ reason: "broken", killer: "stop_ladder", callsLost: 1 },
		]);
		expect(steps(events)).toEqual(["terminate"]);
	});

	test("is found where the adapter does not look", async () => {
		const { pool } = await poolOf(
			stdioAdapter("answers-lines.cjs", (process) =>
				inLines({ ...process, broken: () => {} }),
			),
			{ stop: { killAfterMs: 4_000 } },
		);
		await expect(pool.execute("endOutput")).rejects.toMatchObject({
			code: "WORKER_EXITED",
			message: expect.stringContaining(
				"it closed its standard output but still runs",
			),
		});
	});

	test("before the worker is ready ends the start", async () => {
		const opened = poolOf(
			stdioAdapter("ends-its-output.sh", ({ stdout }) => {
				stdout?.resume();
				return new Promise(() => {});
			}),
		);
		await expect(opened).rejects.toMatchObject({
			code: "WORKER_EXITED_EARLY",
			message: expect.stringContaining(
				"it closed its standard output but still runs",
			),
		});
	});
});
