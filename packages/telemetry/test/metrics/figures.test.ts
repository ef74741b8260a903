import { scripts, virtualPool } from "@snakepit/core/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { METRICS, telemetry } from "../../src/index.ts";
import { EventMetrics } from "../../src/metrics/event-metrics.ts";
import { Meters } from "../../src/metrics/meters.ts";
import { CpuClock, Sightings } from "../../src/metrics/observations.ts";
import { MemorySdk, unregister } from "../support/memory-sdk.ts";

let sdk: MemorySdk;
beforeEach(() => {
	sdk = new MemorySdk().register();
});
afterEach(unregister);

const pool = { "snakepit.pool.name": "scripted" };

test("calls are measured in seconds, with the wait, in the advised buckets", async () => {
	const virtual = await virtualPool(
		{ commands: scripts },
		{ instruments: [telemetry()] },
	);
	const calls = [1, 2].map(() => virtual.pool.execute("work", 2_000));
	expect(await sdk.series("snakepit.call.active")).toEqual([
		{ attributes: pool, value: 1 },
	]);
	expect(await sdk.series("snakepit.call.queued")).toEqual([
		{ attributes: pool, value: 1 },
	]);
	await virtual.clock.advance(5_000);
	await Promise.all(calls);
	expect(await sdk.series("snakepit.call.duration")).toEqual([
		{
			attributes: {
				...pool,
				"snakepit.command": "work",
				"snakepit.call.outcome": "succeeded",
			},
			value: 2,
			sum: 6,
			boundaries: METRICS["snakepit.call.duration"].buckets,
		},
	]);
	expect(await sdk.series("snakepit.call.wait_time")).toMatchObject([
		{ attributes: pool, value: 2, sum: 2 },
	]);
	await virtual.close();
});

test("counters begin at 0, so that the first failure is an increase", async () => {
	const virtual = await virtualPool(
		{ commands: scripts },
		{ instruments: [telemetry()] },
	);
	const failures = async (code: string): Promise<number | undefined> =>
		(await sdk.series("snakepit.call.failures")).find(
			({ attributes }) => attributes["error.type"] === code,
		)?.value;
	expect(await failures("CALL_TIMEOUT")).toBe(0);
	expect(await failures("WORKER_EXITED")).toBe(0);
	for (const name of [
		"snakepit.worker.restarts",
		"snakepit.worker.restart_budget.spent",
		"snakepit.call.retries",
		"snakepit.call.settled",
		"snakepit.telemetry.dropped",
		"snakepit.protection.activations",
		"snakepit.protection.kills",
		"snakepit.orphan.killed",
	]) {
		const series = await sdk.series(name);
		expect(series.length, name).toBeGreaterThan(0);
		for (const { value } of series) expect(value, name).toBe(0);
	}
	const late = virtual.pool.execute("hang", 1, { timeoutMs: 50 });
	const aborted = new AbortController();
	const given = virtual.pool.execute("hang", 1, { signal: aborted.signal });
	aborted.abort();
	await expect(given).rejects.toThrow();
	late.catch(() => undefined);
	await virtual.clock.advance(100);
	await expect(late).rejects.toThrow();
	expect(await failures("CALL_TIMEOUT")).toBe(1);
	expect(await failures("CALL_ABORTED")).toBeUndefined();
	const settled = await sdk.series("snakepit.call.settled");
	expect(
		Object.fromEntries(
			settled.map(({ attributes, value }) => [
				attributes["snakepit.call.outcome"],
				value,
			]),
		),
	).toEqual({ succeeded: 0, failed: 0, aborted: 1, timed_out: 1 });
	await virtual.close();
});

test("workers are counted by state; starts, exits and restarts by what happened", async () => {
	const virtual = await virtualPool(
		{ commands: scripts },
		{ size: 2, instruments: [telemetry()] },
	);
	const ready = async (): Promise<number | undefined> =>
		(await sdk.series("snakepit.worker.count")).find(
			({ attributes }) => attributes["snakepit.worker.state"] === "ready",
		)?.value;
	expect(await ready()).toBe(2);
	const lost = virtual.pool.execute("crash").catch(() => undefined);
	await virtual.clock.advance(10_000);
	await lost;
	expect(await ready()).toBe(2);
	expect(await sdk.series("snakepit.worker.starts")).toMatchObject([
		{ value: 3 },
	]);
	expect(
		(await sdk.series("snakepit.worker.restarts")).filter(
			({ value }) => value > 0,
		),
	).toEqual([
		{
			attributes: { ...pool, "snakepit.worker.end.reason": "exited" },
			value: 1,
		},
	]);
	expect(await sdk.series("snakepit.worker.exits")).toEqual([
		{
			attributes: {
				...pool,
				"snakepit.worker.end.reason": "exited",
				"snakepit.worker.exit.signal": "SIGSEGV",
				"snakepit.worker.end.killer": "none",
			},
			value: 1,
		},
	]);
	await virtual.close();
});

test("an event counts once in each counter that the catalogue names, from 0 on where a series is a pool's", async () => {
	const metrics = new EventMetrics(
		new Meters(undefined, () => true),
		new Sightings(),
	);
	metrics.begin("scripted");
	const worker = { pool: "scripted", workerId: "scripted-0", wallMs: 0 };
	const ping = { ...worker, incarnation: "abcdefg-1", sequence: 1 };
	metrics.hear({ type: "heartbeat.sent", ...ping });
	for (const foundBy of ["ledger", "marker"] as const)
		metrics.hearOfRun({
			...{ type: "orphan.reaped", wallMs: 0, program: undefined },
			...{ ofRun: "bcdefgh" as never, pid: 1, how: "killed", foundBy },
		});
	expect(await sdk.series("snakepit.heartbeat.sent")).toEqual([
		{ attributes: pool, value: 1 },
	]);
	expect(await sdk.series("snakepit.heartbeat.missed")).toEqual([
		{ attributes: pool, value: 0 },
	]);
	expect(await sdk.series("snakepit.orphan.found")).toEqual([
		{ attributes: {}, value: 2 },
	]);
	expect(await sdk.series("snakepit.orphan.killed")).toEqual([
		{ attributes: { "snakepit.found_by": "ledger" }, value: 1 },
		{ attributes: { "snakepit.found_by": "marker" }, value: 1 },
	]);
});

test("processor time of a slot never falls when its worker is replaced", () => {
	const clock = new CpuClock();
	const at = (incarnation: string, cpuTimeMs: number) => ({
		incarnation,
		cpuTimeMs,
	});
	expect(clock.advance([at("a", 100)])).toBe(100);
	// A child of it has ended, with its time.
	expect(clock.advance([at("a", 80)])).toBe(100);
	expect(clock.advance([at("a", 150), at("b", 10)])).toBe(160);
	expect(clock.advance([at("b", 30)])).toBe(180);
	expect(clock.advance([])).toBe(180);
	expect(clock.advance([at("c", 5)])).toBe(185);
});
