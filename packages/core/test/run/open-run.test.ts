import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { parseMarker } from "../../src/contract/identity.ts";
import type { Protection } from "../../src/contract/protection.ts";
import { readHistory } from "../../src/inspect/history.ts";
import { directoriesOf } from "../../src/os/shared-memory.ts";
import { openRun } from "../../src/run/open-run.ts";
import { EventRecorder } from "../../src/testing.ts";
import { craftRun, reserveWorker } from "../cleanup/crafted-run.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";

test("a run is in the ledger as running, with everything a pool needs, and is over after its close", async () => {
	const dataDir = temporaryDirectory();
	const { events, record } = new EventRecorder();
	const run = await openRun({
		...{ dataDir, guard: "off" },
		onEvent: record,
	});
	expect(run.registry.state).toBe("running");
	expect(run.registry.record).toMatchObject({
		...{ runId: run.registry.runId, state: "running" },
		owner: machine.self,
	});
	expect(parseMarker(run.infrastructure.marker)).toMatchObject({
		runId: run.registry.runId,
		hostPid: process.pid,
	});
	const directories = directoriesOf(
		run.infrastructure.runDirectory,
		run.registry.runId,
	);
	expect(directories.slice(1)).toEqual(
		[run.infrastructure.sharedDirectory].flatMap((d) => d ?? []),
	);
	expect(statSync(run.infrastructure.runDirectory).mode & 0o777).toBe(0o700);
	const files = readdirSync(join(dataDir, "runs"));
	expect(
		files.filter(
			(file) => (statSync(join(dataDir, "runs", file)).mode & 0o077) !== 0,
		),
	).toEqual([]);
	await run.close();
	await run.close();
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

test("who opens one directory twice has one run, and it ends with the last close", async () => {
	const dataDir = temporaryDirectory();
	const [first, second] = [new EventRecorder(), new EventRecorder()];
	const [a, b] = await Promise.all([
		openRun({ dataDir, onEvent: first.record }),
		openRun({ dataDir, onEvent: second.record }),
	]);
	expect(a.registry).toBe(b.registry);
	await a.close();
	expect(a.registry.state).toBe("running");
	await b.close();
	expect(a.registry.state).toBe("terminated");
	const ends = (recorder: EventRecorder): number =>
		recorder.events.filter(({ type }) => type === "run.ended").length;
	expect([ends(first), ends(second)]).toEqual([0, 1]);
	const third = await openRun({ dataDir });
	expect(third.registry.runId).not.toBe(a.registry.runId);
	await third.close();
});

test("different data directories have different runs", async () => {
	const [a, b] = await Promise.all([
		openRun({ dataDir: temporaryDirectory() }),
		openRun({ dataDir: temporaryDirectory() }),
	]);
	expect(a.registry).not.toBe(b.registry);
	await Promise.all([a.close(), b.close()]);
});

test("cleaning up is finished before the run can be used", async () => {
	const dataDir = temporaryDirectory();
	const crafted = await craftRun(dataDir);
	const run = await openRun({ dataDir });
	expect(run.cleanupReport.deadRuns).toEqual([crafted.name.runId]);
	const runs = await Array.fromAsync(readHistory({ dataDir }));
	expect(runs.map(({ state }) => state)).toEqual(["running", "terminated"]);
	await run.close();
});

test("a start that fails leaves nothing, and the next one starts anew", async () => {
	const dataDir = temporaryDirectory();
	const error = new Error("There is none.");
	const failing: Protection = {
		name: "none",
		whenUnavailable: "refuse",
		inspect: async () => ({ layer: "none", status: "unavailable", detail: "" }),
		engage: () => Promise.reject(error),
	};
	const results = await Promise.allSettled([
		openRun({ dataDir, protections: [failing] }),
		openRun({ dataDir }),
	]);
	const rejected = {
		status: "rejected",
		reason: { code: "PROTECTION_UNAVAILABLE", cause: error },
	};
	expect(results).toMatchObject([rejected, rejected]);
	expect(readdirSync(join(dataDir, "runs"))).toEqual([]);
	const run = await openRun({ dataDir });
	await run.close();
});

test("a run that is closed while workers live is not over: the next start looks after them", async () => {
	const dataDir = temporaryDirectory();
	const run = await openRun({ dataDir });
	reserveWorker(run.infrastructure.registry);
	await run.close();
	expect(existsSync(run.infrastructure.runDirectory)).toBe(true);
	expect(readdirSync(join(dataDir, "runs")).length).toBeGreaterThan(0);
	machine.remove([run.infrastructure.runDirectory]);
});

test("without a home the ledger is under the temporary directory, and an event reports that", async () => {
	const temporary = temporaryDirectory();
	vi.stubEnv("HOME", undefined);
	vi.stubEnv("XDG_STATE_HOME", undefined);
	vi.stubEnv("TMPDIR", temporary);
	try {
		const { events, record } = new EventRecorder();
		const run = await openRun({ onEvent: record });
		expect(events[0]).toMatchObject({
			type: "registry.relocated",
			path: expect.stringContaining(temporary),
			reason: "HOME is not set",
		});
		await run.close();
	} finally {
		vi.unstubAllEnvs();
	}
});

test("a directory that is not there is made", async () => {
	const dataDir = join(temporaryDirectory(), "a", "b");
	const run = await openRun({ dataDir });
	expect(statSync(dataDir).mode & 0o777).toBe(0o700);
	await run.close();
});

test("a ledger that cannot be made is a clear error", async () => {
	const dataDir = temporaryDirectory();
	mkdirSync(join(dataDir, "elsewhere"));
	const { writeFileSync } = await import("node:fs");
	writeFileSync(join(dataDir, "runs"), "in the way");
	await expect(openRun({ dataDir })).rejects.toMatchObject({
		name: "RegistryError",
		code: "REGISTRY_UNWRITABLE",
		message: expect.stringContaining("dataDir"),
	});
});
