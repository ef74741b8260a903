import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type HistoryOptions, readHistory } from "../../src/inspect.ts";
import type { PoolOptions } from "../../src/options/pool-options.ts";
import * as poolTables from "../../src/options/pool-options.ts";
import { resolveOptions } from "../../src/options/resolve-pool-options.ts";
import type {
	ExecuteOptions,
	SessionOptions,
} from "../../src/pool/calls/call-options.ts";
import type { CloseOptions } from "../../src/pool/pool-control.ts";
import {
	AUDIT_DEFAULTS,
	assertAgrees,
	HISTORY_DEFAULTS,
	JOBS_DEFAULTS,
	type RunOptions,
	resolveRunOptions,
} from "../../src/run/run-options.ts";
import { scriptedAdapter } from "../../src/testing/scripted-adapter.ts";
import { scripts } from "../../src/testing.ts";
import { virtualPool } from "./virtual-pool.ts";

/** Every option by its name, and undefined. */
type LeftOut<Options> = { readonly [Name in keyof Options]-?: undefined };

const adapter = scriptedAdapter();
const EXECUTE: LeftOut<ExecuteOptions> = {
	signal: undefined,
	timeoutMs: undefined,
	queueTimeoutMs: undefined,
	priority: undefined,
	retry: undefined,
	input: undefined,
	onProgress: undefined,
	traceContext: undefined,
};
const SESSION: LeftOut<SessionOptions> = {
	id: undefined,
	affinity: undefined,
};
const CLOSE: LeftOut<CloseOptions> = {
	by: undefined,
	drainMs: undefined,
	manner: undefined,
};
const HISTORY: LeftOut<Omit<HistoryOptions, "dataDir">> = {
	runs: undefined,
	workersPerRun: undefined,
	failedCallsPerRun: undefined,
	only: undefined,
	endedSinceMs: undefined,
};
const POOL: LeftOut<Omit<PoolOptions, "adapter">> = {
	name: undefined,
	size: undefined,
	callsPerWorker: undefined,
	start: undefined,
	queue: undefined,
	calls: undefined,
	heartbeat: undefined,
	recycle: undefined,
	sessions: undefined,
	stop: undefined,
	output: undefined,
	observe: undefined,
	onEvent: undefined,
	instruments: undefined,
};
const RUN: LeftOut<RunOptions> = {
	dataDir: undefined,
	guard: undefined,
	protections: undefined,
	cleanup: undefined,
	audit: undefined,
	jobs: undefined,
	history: undefined,
	onSignal: undefined,
	signalGraceMs: undefined,
	control: undefined,
	onEvent: undefined,
};
/** Each group, by the name of its rows, with each of its options `undefined`. */
function groupsOf(
	groups: Readonly<Record<string, object>>,
): Readonly<Record<string, object>> {
	return Object.fromEntries(
		Object.entries(groups).map(([name, rows]) => [
			name.replace("_DEFAULTS", "").toLowerCase(),
			Object.fromEntries(Object.keys(rows).map((row) => [row, undefined])),
		]),
	);
}

test("an option of a pool that is undefined is one that is left out", () => {
	const { POOL_DEFAULTS: _, ...poolGroups } = poolTables;
	const expected = resolveOptions({ adapter }, 3);
	expect(resolveOptions({ adapter, ...POOL }, 3)).toEqual(expected);
	expect(resolveOptions({ adapter, ...groupsOf(poolGroups) }, 3)).toEqual(
		expected,
	);
});

test("so is one of a run, which agrees with every run then", () => {
	const expected = resolveRunOptions("openRun", {});
	for (const given of [
		RUN,
		groupsOf({ AUDIT_DEFAULTS, HISTORY_DEFAULTS, JOBS_DEFAULTS }),
	]) {
		expect(resolveRunOptions("openRun", given)).toEqual(expected);
		assertAgrees("createPool", given, expected, "/data");
	}
});

test("so is one of a call, a session, a close, a history", async () => {
	const { pool, clock } = await virtualPool({
		commands: { echo: scripts.echo },
	});
	expect(await pool.execute("echo", 1, EXECUTE)).toBe(1);
	const session = pool.session(SESSION);
	expect(session.id).not.toBe("undefined");
	expect(await session.execute("echo", 2, { signal: undefined })).toBe(2);
	session.close();
	await clock.advanceUntil(pool.close(CLOSE));

	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-test-"));
	onTestFinished(() => rmSync(dataDir, { recursive: true }));
	const runs = readHistory({ dataDir, ...HISTORY });
	expect(await Array.fromAsync(runs)).toEqual([]);
});
