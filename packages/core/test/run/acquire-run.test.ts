import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { StartError } from "../../src/errors.ts";
import { parseMarker } from "../../src/marker.ts";
import { directoriesOf } from "../../src/os/shared-memory.ts";
import {
	type AcquireRunOptions,
	acquireRun,
	assertPlatform,
} from "../../src/run/acquire-run.ts";
import type { RunHandle } from "../../src/run/run-handle.ts";
import { EventRecorder } from "../../src/testing.ts";
import { craftRun } from "../cleanup/crafted-run.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";

function acquire(
	dataDir: string | undefined,
	fields: Partial<AcquireRunOptions> = {},
): Promise<RunHandle> {
	return acquireRun({
		dataDir,
		strategy: undefined,
		emit: () => {},
		...fields,
	});
}

test("a run is in the ledger as running, with everything a pool needs, and is over after its release", async () => {
	const dataDir = temporaryDirectory();
	const { events, record } = new EventRecorder();
	const run = await acquire(dataDir, { emit: record });
	expect(run.registry.state).toBe("running");
	expect(run.registry.runs()).toMatchObject([
		{ runId: run.registry.runId, state: "running", owner: machine.self },
	]);
	expect(parseMarker(run.marker)).toMatchObject({
		runId: run.registry.runId,
		hostPid: process.pid,
	});
	const directories = directoriesOf(run.runDirectory, run.registry.runId);
	expect(directories.slice(1)).toEqual(
		[run.sharedDirectory].flatMap((d) => d ?? []),
	);
	expect(statSync(run.runDirectory).mode & 0o777).toBe(0o700);
	const files = readdirSync(join(dataDir, "runs"));
	expect(
		files.filter(
			(file) => (statSync(join(dataDir, "runs", file)).mode & 0o077) !== 0,
		),
	).toEqual([]);
	await run.release();
	await run.release();
	expect(directories.filter(existsSync)).toEqual([]);
	expect(readdirSync(join(dataDir, "runs"))).toEqual([]);
	expect(readdirSync(join(dataDir, "history")).length).toBe(1);
	expect(events.map(({ type }) => type)).toEqual([
		"run.started",
		"cleanup.started",
		"cleanup.finished",
		"run.ended",
	]);
});

test("two pools of one program share a run, and it ends with the last of them", async () => {
	const dataDir = temporaryDirectory();
	const [first, second] = [new EventRecorder(), new EventRecorder()];
	const [a, b] = await Promise.all([
		acquire(dataDir, { emit: first.record }),
		acquire(dataDir, { emit: second.record }),
	]);
	expect(a.registry).toBe(b.registry);
	await a.release();
	expect(a.registry.state).toBe("running");
	await b.release();
	expect(a.registry.state).toBe("terminated");
	const ends = (recorder: EventRecorder): number =>
		recorder.events.filter(({ type }) => type === "run.ended").length;
	expect([ends(first), ends(second)]).toEqual([0, 1]);
	const third = await acquire(dataDir);
	expect(third.registry.runId).not.toBe(a.registry.runId);
	await third.release();
});

test("different data directories have different runs", async () => {
	const [a, b] = await Promise.all([
		acquire(temporaryDirectory()),
		acquire(temporaryDirectory()),
	]);
	expect(a.registry).not.toBe(b.registry);
	expect(a.registry.runs().length).toBe(1);
	await Promise.all([a.release(), b.release()]);
});

test("cleaning up is finished before the run can be used", async () => {
	const dataDir = temporaryDirectory();
	const crafted = await craftRun(dataDir);
	const run = await acquire(dataDir);
	expect(run.report.deadRuns).toEqual([crafted.name.runId]);
	expect(run.registry.runs().map(({ state }) => state)).toEqual([
		"running",
		"terminated",
	]);
	await run.release();
});

test("a start that fails leaves nothing, and the next one starts anew", async () => {
	const dataDir = temporaryDirectory();
	const error = new Error("the listener is broken");
	const failing = {
		emit: ({ type }: { readonly type: string }) => {
			if (type === "cleanup.started") throw error;
		},
	};
	const results = await Promise.allSettled([
		acquire(dataDir, failing),
		acquire(dataDir),
	]);
	expect(results).toMatchObject([
		{ status: "rejected", reason: error },
		{ status: "rejected", reason: error },
	]);
	expect(readdirSync(join(dataDir, "runs"))).toEqual([]);
	const run = await acquire(dataDir);
	await run.release();
});

test("a run that is released while workers live is not over: the next start looks after them", async () => {
	const dataDir = temporaryDirectory();
	const run = await acquire(dataDir);
	run.registry.reserve({
		incarnation: run.registry.nextIncarnation(),
		workerId: "w-0",
		pool: "w",
		fingerprint: "x",
		files: [],
	});
	await run.release();
	expect(existsSync(run.runDirectory)).toBe(true);
	expect(readdirSync(join(dataDir, "runs")).length).toBeGreaterThan(0);
	machine.remove([run.runDirectory]);
});

test("without a home the ledger is under the temporary directory, and that is told", async () => {
	const temporary = temporaryDirectory();
	vi.stubEnv("HOME", undefined);
	vi.stubEnv("XDG_STATE_HOME", undefined);
	vi.stubEnv("TMPDIR", temporary);
	try {
		const { events, record } = new EventRecorder();
		const run = await acquire(undefined, { emit: record });
		expect(events[0]).toMatchObject({
			type: "registry.relocated",
			path: expect.stringContaining(temporary),
			reason: "HOME is not set",
		});
		await run.release();
	} finally {
		vi.unstubAllEnvs();
	}
});

test("a directory that is not there is made", async () => {
	const dataDir = join(temporaryDirectory(), "a", "b");
	const run = await acquire(dataDir);
	expect(statSync(dataDir).mode & 0o777).toBe(0o700);
	await run.release();
});

test("a ledger that cannot be made is a clear error", async () => {
	const dataDir = temporaryDirectory();
	mkdirSync(join(dataDir, "elsewhere"));
	const { writeFileSync } = await import("node:fs");
	writeFileSync(join(dataDir, "runs"), "in the way");
	await expect(acquire(dataDir)).rejects.toMatchObject({
		name: "RegistryError",
		code: "REGISTRY_UNWRITABLE",
		message: expect.stringContaining("dataDir"),
	});
});

test("pools are for Linux and macOS; elsewhere starting one is a clear error", () => {
	assertPlatform("linux");
	assertPlatform("darwin");
	expect(() => assertPlatform("win32")).toThrow(
		expect.objectContaining({
			code: "PLATFORM_UNSUPPORTED",
			message: expect.stringContaining("WSL"),
		}),
	);
	expect(() => assertPlatform("aix")).toThrow(StartError);
});
