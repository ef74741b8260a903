import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
	type HistoryOptions,
	type RunHistory,
	readHistory,
} from "../../src/inspect/history.ts";
import { openRun } from "../../src/run/open-run.ts";
import type { Run } from "../../src/run/run.ts";
import {
	CLOSED,
	craftRun,
	deadOwner,
	reserveWorker,
	workerRow,
} from "../cleanup/crafted-run.ts";
import {
	Host,
	isAlive,
	machine,
	temporaryDirectory,
} from "../cleanup/hosts.ts";
import { toVersion } from "../registry/upgrade.test.ts";

async function read(options: HistoryOptions): Promise<readonly RunHistory[]> {
	const found: RunHistory[] = [];
	for await (const run of readHistory(options)) found.push(run);
	return found;
}

function acquire(
	dataDir: string,
	fields: Partial<Parameters<typeof openRun>[0]> = {},
): Promise<Run> {
	return openRun({ dataDir, ...fields });
}

function reserve({ infrastructure: { registry } }: Run): string {
	return reserveWorker(registry);
}

test("history reports how every run ended and every worker of it: newest first, the living run included", async () => {
	const dataDir = temporaryDirectory();
	const host = new Host({ dataDir, workers: ["sleeps.sh"] });
	const dead = await host.up();
	await host.kill();

	const first = await acquire(dataDir);
	const worker = reserve(first);
	first.infrastructure.registry.activate(worker, deadOwner(), 9);
	first.infrastructure.registry.end(worker, {
		exit: { kind: "signal", signal: "SIGSEGV" },
		reason: "exited",
		killer: "none",
	});
	await first.close();
	expect(dead.pids.map(isAlive)).toEqual([false]);

	const living = await acquire(dataDir);
	onTestFinished(() => living.close());
	const [now, clean, reaped, ...rest] = await read({ dataDir });
	expect(rest).toEqual([]);
	expect(now).toMatchObject({
		runId: living.registry.runId,
		state: "running",
		clean: undefined,
		workers: [],
	});
	expect(clean).toMatchObject({
		runId: first.registry.runId,
		clean: true,
		endedBy: "host",
		killed: 0,
		cleanupMs: undefined,
		workerCount: 1,
		workers: [
			{
				incarnation: worker,
				end: {
					exit: { kind: "signal", signal: "SIGSEGV" },
					reason: "exited",
					killer: "none",
				},
			},
		],
	});
	expect(reaped).toMatchObject({
		runId: dead.runId,
		clean: false,
		endedBy: `reaper:${first.registry.runId}`,
		killed: 1,
		cleanupMs: expect.any(Number),
		workers: [{ end: { reason: "reaped", killer: "reaper" } }],
	});
	expect(reaped).not.toHaveProperty("directory");
});

test("it is bounded: so many runs, and of each the workers that were reserved last", async () => {
	const dataDir = temporaryDirectory();
	for (const runId of [1, 2, 3])
		await craftRun(dataDir, deadOwner(), { killed: runId }, (id) => [
			workerRow(id),
			workerRow(id, { incarnation: `${id}-2` }),
		]);
	const own = await acquireOwn(dataDir);
	const two = await read({ dataDir, runs: 2, workersPerRun: 1 });
	expect(two.length).toBe(2);
	expect(two[0]).toMatchObject({
		runId: own.registry.runId,
		workers: [{ incarnation: `${own.registry.runId}-2` }],
		workerCount: 2,
	});
	const none = await read({ dataDir, workersPerRun: 0 });
	expect(none.map(({ workers }) => workers)).toEqual(none.map(() => []));
	expect(none.map(({ workerCount }) => workerCount)).toEqual(none.map(() => 2));
});

test("a preloaded parent and a companion are in the list, and no workers", async () => {
	const dataDir = temporaryDirectory();
	const beside = ["w-preload", "w-companion"];
	await craftRun(dataDir, deadOwner(), {}, (id) => [
		workerRow(id),
		...beside.map((workerId, number) =>
			workerRow(id, { incarnation: `${id}-${number + 2}`, workerId }),
		),
	]);
	const [run] = await read({ dataDir });
	expect(run?.workerCount).toBe(1);
	expect(run?.workers.map(({ workerId }) => workerId)).toEqual([
		...["w-0", ...beside],
	]);
});

/** A living run of this process with two workers. */
async function acquireOwn(dataDir: string): Promise<Run> {
	const run = await acquire(dataDir, {
		cleanup: () => "spare",
	});
	const names = [reserve(run), reserve(run)];
	onTestFinished(async () => {
		for (const name of names) run.infrastructure.registry.end(name, CLOSED);
		await run.close();
	});
	return run;
}

test("it is lazy: the file of another second is opened when it is asked for", async () => {
	const dataDir = temporaryDirectory();
	const older = await craftRun(dataDir);
	const run = await acquireOwn(dataDir);
	const history = readHistory({ dataDir });
	const first = await history.next();
	expect(first.value).toMatchObject({ runId: run.registry.runId });
	rmSync(join(dataDir, "history"), { recursive: true });
	expect(existsSync(older.path)).toBe(false);
	expect((await history.next()).done).toBe(true);
});

test("runs of one second are in the order of their start, and reading changes nothing", async () => {
	const dataDir = temporaryDirectory();
	for (const startedAt of [2, 3, 1])
		await craftRun(dataDir, deadOwner(), { startedAt });
	const content = (): unknown =>
		readdirSync(join(dataDir, "runs"))
			// Beside a file of a dead run SQLite leaves two that are empty of changes.
			.filter((name) => /\.(db|lock)$/.test(name))
			.map((name) => [name, readFileSync(join(dataDir, "runs", name))]);
	const before = content();
	const found = await read({ dataDir });
	expect(found.map(({ startedAt }) => startedAt)).toEqual([3, 2, 1]);
	expect(content()).toEqual(before);
});

test("what cannot be read, or belongs to another thread of this process, is left out", async () => {
	const dataDir = temporaryDirectory();
	const damaged = await craftRun(dataDir);
	writeFileSync(damaged.path, "");
	await craftRun(dataDir, machine.self);
	const good = await craftRun(dataDir);
	expect((await read({ dataDir })).map(({ runId }) => runId)).toEqual([
		good.name.runId,
	]);
	expect(await read({ dataDir: join(dataDir, "nothing") })).toEqual([]);
});

test("a run of the first version is read too", async () => {
	const dataDir = temporaryDirectory();
	const { path } = await craftRun(dataDir);
	toVersion(1, path);
	expect(await read({ dataDir })).toMatchObject([
		{ cleanupMs: undefined, incidents: [] },
	]);
});

test("misspelt options are refused at the door", async () => {
	await expect(
		read({ limit: 3 } as unknown as HistoryOptions),
	).rejects.toMatchObject({ code: "UNKNOWN_OPTION" });
});

test("how much is kept is an option of the start of the run", async () => {
	const dataDir = temporaryDirectory();
	mkdirSync(dataDir, { recursive: true });
	for (let n = 0; n < 4; n++) await (await acquire(dataDir)).close();
	const run = await acquire(dataDir, {
		history: { runs: 2, ageMs: 1_000_000 },
	});
	expect((await read({ dataDir })).length).toBe(3);
	await run.close();
});

test("only what lives: no file of the history is opened, and no worker is listed whose end is recorded", async () => {
	const dataDir = temporaryDirectory();
	const ended = await acquire(dataDir);
	await ended.close();
	const run = await acquire(dataDir);
	onTestFinished(() => run.close());
	const { registry } = run.infrastructure;
	const [first, second] = [reserve(run), reserve(run)];
	registry.end(first, {
		exit: undefined,
		reason: "start_failed",
		killer: "none",
	});
	const host = new Host({ dataDir, workers: ["sleeps.sh"] });
	const other = await host.up();

	const found = await read({ dataDir, only: "living", workersPerRun: 0 });
	const listed = new Map(found.map((each) => [each.runId, each]));
	expect([...listed.keys()].toSorted()).toEqual(
		[run.runId, other.runId].toSorted(),
	);
	expect(listed.get(run.runId)).toMatchObject({
		workers: [{ incarnation: second, status: "reserved" }],
		workerCount: 2,
	});
	expect(listed.get(other.runId)?.workers).toHaveLength(1);

	await host.kill();
	const [dead] = (await read({ dataDir, only: "living" })).filter(
		({ runId }) => runId === other.runId,
	);
	expect(dead?.state).toBe("host_died");
});
