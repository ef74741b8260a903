import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import type { PoolOptions } from "../../src/options/pool-options.ts";
import { createPool, openRun, withPool } from "../../src/run/open-run.ts";
import type { RunOptions } from "../../src/run/run-options.ts";
import { EventRecorder } from "../../src/testing.ts";
import { craftRun } from "../cleanup/crafted-run.ts";
import { eventually, isAlive, temporaryDirectory } from "../cleanup/hosts.ts";

const POOL: PoolOptions = {
	adapter: {
		name: "sleeps",
		launch: () => ({ executable: "sleep", args: ["100000"] }),
		connect: async () => ({
			execute: async () => undefined,
			[Symbol.asyncDispose]: async () => {},
		}),
	},
	size: 1,
	heartbeat: "off",
	output: { echo: "none" },
};

test("a run lives without pools, makes several, outlives each, and its close ends what is left", async () => {
	const { events, record } = new EventRecorder();
	const run = await openRun({
		...{ dataDir: temporaryDirectory(), guard: "off" },
		onEvent: record,
	});
	const first = await run.createPool(POOL);
	await first.close();
	const pools = [
		await run.createPool(POOL),
		await run.createPool({ ...POOL, name: "other" }),
	];
	expect(run.registry.living().map(({ pool }) => pool)).toEqual([
		"sleeps",
		"other",
	]);
	expect(pools.map(({ runId }) => runId)).toEqual([run.runId, run.runId]);
	const pids = pools.flatMap((pool) =>
		pool.workers().flatMap(({ pid }) => pid ?? []),
	);
	expect(pids.map(isAlive)).toEqual([true, true]);
	expect(run.statistics()).toMatchObject({
		registry: { unwritten: 0 },
		audit: { vanished: 0 },
	});
	await Promise.all([run.close(), run.close({ manner: "forced" })]);
	expect(pids.map(isAlive)).toEqual([false, false]);
	expect(run.registry.state).toBe("terminated");
	expect(readdirSync(join(run.dataDir, "runs"))).toEqual([]);
	expect(events.map(({ type }) => type)).toEqual([
		"run.started",
		"cleanup.started",
		"cleanup.finished",
		"run.ended",
	]);
	const late = run.createPool(POOL);
	await expect(late).rejects.toMatchObject({
		name: "StartError",
		code: "RUN_CLOSED",
		ran: "no",
		message: expect.stringContaining(run.runId),
	});
});

test("run.close() with a wrong option is refused, and the run stays open", async () => {
	await using run = await openRun({
		...{ dataDir: temporaryDirectory(), guard: "off" },
	});
	expect(() => run.close({ maner: "forced" } as never)).toThrow(
		'Did you mean "manner"',
	);
	expect(() => run.close({ manner: "fast" } as never)).toThrow(
		'run.close: "manner" must be',
	);
	expect(run.registry.state).toBe("running");
});

test("`await using` closes a run, with a pool whose start is under way", async () => {
	const { events, record } = new EventRecorder();
	let starting: Promise<unknown> | undefined;
	{
		await using run = await openRun({ dataDir: temporaryDirectory() });
		starting = run.createPool({ ...POOL, onEvent: record });
		starting.catch(() => {});
	}
	await expect(starting).rejects.toMatchObject({ code: "POOL_CLOSED" });
	expect(events.at(-1)?.type).toBe("pool.start_failed");
});

test("the first pool of a run is given what happened while the run was opened, and no other is", async () => {
	const dataDir = temporaryDirectory();
	const crafted = await craftRun(dataDir);
	await using run = await openRun({ dataDir });
	expect(run.cleanupReport.deadRuns).toEqual([crafted.name.runId]);
	const recorders = [new EventRecorder(), new EventRecorder()];
	for (const { record } of recorders)
		await run.createPool({ ...POOL, onEvent: record });
	const started = recorders.map(({ events }) =>
		events.filter(({ type }) => /^(run|cleanup)\./.test(type)),
	);
	expect(started).toMatchObject([
		[
			{ type: "run.started", runId: run.runId },
			{ type: "cleanup.started" },
			{ type: "run.found_dead", ofRun: crafted.name.runId },
			{ type: "cleanup.finished", deadRuns: 1 },
		],
		[],
	]);
});

test("what tells of a pool that could not be started is sent before its creator gets the error", async () => {
	const sent: string[] = [];
	await using run = await openRun({ dataDir: temporaryDirectory() });
	const broken = run.createPool({
		...POOL,
		adapter: {
			...POOL.adapter,
			prepare: () => Promise.reject(new Error("no tools")),
		},
		instruments: [
			{
				attach: () => ({
					hear: ({ type }) => void (/^pool\./.test(type) && sent.push(type)),
					flush: async () => void sent.push("flush"),
				}),
			},
		],
	});
	await broken.catch(() => sent.push("error"));
	expect(sent).toEqual(["pool.start_failed", "flush", "error"]);
});

test("a listener that throws affects neither the run nor its pools", async () => {
	const threw: SnakepitEvent[] = [];
	const onEvent = (event: SnakepitEvent): void => {
		if (event.type === "listener.threw") threw.push(event);
		else throw new Error("broken");
	};
	await using run = await openRun({ dataDir: temporaryDirectory(), onEvent });
	await using _pool = await run.createPool({ ...POOL, onEvent });
	expect(threw).toContainEqual(expect.objectContaining({ of: "run.started" }));
});

test("pools made by createPool share the run that is open, and it ends with the last of them", async () => {
	const dataDir = temporaryDirectory();
	const run = await openRun({ dataDir, audit: { intervalMs: 1_000 } });
	const pool = await createPool({ ...POOL, dataDir });
	expect(pool.runId).toBe(run.runId);
	await run.close();
	expect(pool.registry.state).toBe("running");
	await withPool(
		{ ...POOL, dataDir, audit: { intervalMs: 1_000 } },
		async ({ runId }) => expect(runId).toBe(run.runId),
	);
	await pool.close();
	expect(pool.registry.state).toBe("terminated");
});

test.each([undefined, "action"])(
	"withPool without a function (%s) is refused before anything is started",
	async (action) => {
		const dataDir = join(temporaryDirectory(), "absent");
		await expect(
			withPool({ ...POOL, dataDir }, action as never),
		).rejects.toMatchObject({
			code: "INVALID_OPTION",
			message: expect.stringContaining("a function"),
		});
		expect(existsSync(dataDir)).toBe(false);
	},
);

test.each<readonly [string, RunOptions]>([
	["audit.intervalMs", { audit: { intervalMs: 100 } }],
	["history.ageMs", { history: { ageMs: 1 } }],
	["cleanup", { cleanup: () => "spare" }],
	["onSignal", { onSignal: "ignore" }],
	["control", { control: { scopes: ["act"] } }],
])(
	"a second pool whose %s disagrees with the run is an error: its name is free again, and the first goes on",
	async (option, given) => {
		const dataDir = temporaryDirectory();
		await using pool = await createPool({ ...POOL, dataDir });
		const second = createPool({ ...POOL, dataDir, ...given });
		await expect(second).rejects.toMatchObject({
			name: "OptionsError",
			code: "RUN_OPTION_CONFLICT",
			message: expect.stringContaining(`"${option}"`),
		});
		await expect(openRun({ dataDir, ...given })).rejects.toMatchObject({
			code: "RUN_OPTION_CONFLICT",
		});
		await using third = await createPool({ ...POOL, dataDir });
		expect([pool.runId, pool.name, third.name]).toEqual([
			third.runId,
			"sleeps",
			"sleeps-2",
		]);
	},
);

test("the audit of a run has its own interval, whichever pool asked", async () => {
	const dataDir = temporaryDirectory();
	await using _run = await openRun({ dataDir, audit: { intervalMs: 100 } });
	await using pool = await createPool({ ...POOL, dataDir });
	const release = _run.infrastructure.host.keepAlive();
	onTestFinished(release);
	await eventually("some looks", () => pool.statistics().audit.looks > 2);
});

test("an option of the run given to one of its pools is refused by name; left out it may be undefined", async () => {
	await using run = await openRun({ dataDir: temporaryDirectory() });
	const given = { ...POOL, audit: { intervalMs: 100 } };
	await expect(run.createPool(given)).rejects.toMatchObject({
		code: "INVALID_OPTION",
		message: expect.stringMatching(
			/^run\.createPool: "audit" is an option of the run: it belongs in openRun\(\), got/,
		),
	});
	const undefinedOnes = { ...POOL, dataDir: undefined };
	await (await run.createPool(undefinedOnes)).close();
});

test.each([
	["createPool queue: ", { queue: { limit: -1 } }],
	['createPool: there is no option "dataDirr"', { dataDirr: "x" }],
	["createPool audit: ", { audit: { intervalMs: 1 } }],
])("%s%j names what refused it, and nothing is started", async (at, wrong) => {
	const dataDir = temporaryDirectory();
	const made = createPool({ ...POOL, dataDir, ...wrong });
	await expect(made).rejects.toMatchObject({
		name: "OptionsError",
		message: expect.stringContaining(at),
	});
	expect(readdirSync(dataDir)).toEqual([]);
});

test("what users hold of a pool opens nothing a second time and kills nothing", async () => {
	await using pool = await createPool({
		...POOL,
		dataDir: temporaryDirectory(),
	});
	const members = new Set<string>();
	let each: object = pool;
	for (; each !== Object.prototype; each = Object.getPrototypeOf(each))
		for (const name of Object.getOwnPropertyNames(each)) members.add(name);
	expect([...members].toSorted()).toEqual([
		"cleanupReport",
		"close",
		"constructor",
		"execute",
		"health",
		"map",
		"metricsText",
		"name",
		"on",
		"pause",
		"ping",
		"readMetrics",
		"recycle",
		"registry",
		"resize",
		"restart",
		"resume",
		"runId",
		"session",
		"statistics",
		"stream",
		"use",
		"workers",
	]);
});

test("an open run holds no program open, and is over in order when the program has nothing left to do", () => {
	const dataDir = temporaryDirectory();
	const source = join(import.meta.dirname, "../../src/run/open-run.ts");
	const { status, stdout } = spawnSync(
		process.execPath,
		[
			"--input-type=module",
			"--eval",
			`import { openRun } from ${JSON.stringify(source)};
			const run = await openRun({ dataDir: ${JSON.stringify(dataDir)} });
			process.on("exit", () => console.log(run.registry.state));`,
		],
		{ encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
	);
	expect([status, stdout]).toEqual([0, "terminated\n"]);
	expect(readdirSync(join(dataDir, "runs"))).toEqual([]);
});
