import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createPool, type Pool } from "../../src/index.ts";
import { EventRecorder } from "../../src/testing.ts";
import { CAPITALS } from "./capitals.ts";

/** More than a pool may restart within a minute, if it counts them. */
const WORKERS = 30;

function parentOf(pid: number): number {
	const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
	return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

function guardOf(pool: Pool): number {
	const pid = pool.workers().find(({ pid }) => pid !== undefined)?.pid;
	if (pid === undefined) throw new Error("no worker");
	return parentOf(pid);
}

/** Calls one after the other until it is stopped; resolves to how many had an answer, and how many lost their worker. */
async function load(pool: Pool, stop: AbortSignal) {
	const calls = { answered: 0, lost: 0 };
	while (!stop.aborted)
		try {
			expect(await pool.execute("hello", undefined)).toBe("HELLO");
			calls.answered++;
		} catch (error) {
			expect(error).toMatchObject({
				...{ code: "WORKER_EXITED", ran: "maybe" },
				message: expect.stringMatching(
					/was ended by SIGKILL because the guard that had forked it was lost/,
				),
			});
			calls.lost++;
		}
	return calls;
}

test.runIf(process.platform === "linux").each([1, 2])(
	"%i inner guards are killed under load, without any option: calls that ran are lost, each worker is replaced, no restart budget is spent",
	async (kills) => {
		const dataDir = mkdtempSync(join(tmpdir(), "snakepit-guard-"));
		onTestFinished(() => rmSync(dataDir, { recursive: true }));
		const events = new EventRecorder();
		await using pool = await createPool({
			...{ adapter: CAPITALS, size: WORKERS, dataDir },
			output: { echo: "none" },
			onEvent: events.record,
		});
		const stop = new AbortController();
		const callers = Array.from({ length: WORKERS }, () =>
			load(pool, stop.signal),
		);
		for (let kill = 1; kill <= kills; kill++) {
			process.kill(guardOf(pool), "SIGKILL");
			await events.waitFor(
				"worker.ready",
				() => events.of("worker.ready").length === (kill + 1) * WORKERS,
				100_000,
			);
		}
		stop.abort();
		const calls = await Promise.all(callers);
		expect(Math.min(...calls.map(({ answered }) => answered))).toBeGreaterThan(
			0,
		);
		const ends = events
			.of("worker.exited")
			.map(({ reason, killer }) => ({ reason, killer }));
		expect(ends).toEqual(
			Array(kills * WORKERS).fill({ reason: "parent_lost", killer: "guard" }),
		);
		expect(events.of("pool.restart_budget_spent")).toEqual([]);
		expect(events.of("worker.start_failed")).toEqual([]);
		expect(events.of("protection.ended").map(({ how }) => how)).toEqual(
			Array(kills).fill("lost"),
		);
		expect(
			events.of("protection.started").map(({ restarts }) => restarts),
		).toEqual([0, 1, 2].slice(0, kills + 1));
	},
	240_000,
);

test.runIf(process.platform === "linux")(
	"where guards are lost one after the other, workers are started without one meanwhile, and the run says so",
	async () => {
		const dataDir = mkdtempSync(join(tmpdir(), "snakepit-guard-"));
		onTestFinished(() => rmSync(dataDir, { recursive: true }));
		const events = new EventRecorder();
		await using pool = await createPool({
			...{ adapter: CAPITALS, size: 1, dataDir },
			onEvent: events.record,
			output: { echo: "none" },
		});
		for (const count of [2, 3, 4]) {
			process.kill(guardOf(pool), "SIGKILL");
			await events.waitFor(
				"worker.ready",
				() => events.of("worker.ready").length === count,
				100_000,
			);
		}
		expect(events.of("worker.spawned").map(({ source }) => source)).toEqual([
			...["guard", "guard", "guard", "node"],
		]);
		expect(events.of("protection.unavailable")).toMatchObject([
			{
				protection: "guard",
				reason: expect.stringMatching(
					/^3 guards in a row were lost.*For a minute workers start without a guard/,
				),
			},
		]);
		expect(await pool.execute("hello", undefined)).toBe("HELLO");
	},
	240_000,
);
