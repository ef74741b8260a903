import {
	mkdirSync,
	readdirSync,
	rmSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
	type ChaosCase,
	family,
	GUARD,
	type RoundOutcome,
	refusedWith,
	unless,
	WATCHDOG,
} from "../case.ts";
import {
	fillDisk,
	mountsUnavailable,
	onOwnDisk,
} from "../harness/isolation.ts";
import { openRunFile } from "../harness/run-files.ts";
import type { Stage } from "../harness/stage.ts";

const SIZE = 2;
/** Without a lifeline that would end them with their host. */
const SHELL = { worker: "shell", lifeline: "off", size: SIZE } as const;
/** Rows of more workers than that do not fit into what the file has allocated. */
const MOST_DEATHS = 40;
/** Often enough that a round does not wait for the audit. */
const AUDIT_MS = 500;

const onDisk = (name: string, round: (stage: Stage) => Promise<RoundOutcome>) =>
	({ name, rounds: 3, unavailable: mountsUnavailable, round }) as const;

export const damagedLedger: readonly ChaosCase[] = family(
	"the ledger is damaged, locked, read-only or full",
	[GUARD],
	[
		...(
			[
				["corrupt", (file) => writeFileSync(file, Buffer.alloc(20_000, 0xa5))],
				["truncated", (file) => truncateSync(file, 5_000)],
				["empty", (file) => writeFileSync(file, "")],
			] satisfies [string, (file: string) => void][]
		).map(([name, damage]) => ({
			name: `the file of a dead run is ${name}: its workers are ended all the same; the time is until the pool is up`,
			rounds: 5,
			...(name === "corrupt" && { selected: 1 }),
			target: { maxMs: 1_000 },
			round: (stage: Stage) => startOn(stage, damage),
		})),
		{
			name: "another program holds the file of a dead run: the pool starts, the run is spared; the time is until the pool has started",
			rounds: 5,
			target: { maxMs: 1_000 },
			round: lockedRun,
		},
		onDisk("the disk of the ledger is read-only: a clear error", (stage) =>
			refusedOn(stage, "ro,size=1m", "REGISTRY_UNWRITABLE"),
		),
		onDisk(
			"the disk of the ledger has no room at the start: a clear error",
			(stage) => refusedOn(stage, "size=8k", "REGISTRY_FULL"),
		),
		onDisk(
			"the disk of the ledger fills up while a pool runs: it goes on, writes again when there is room, and SIGKILL leaves nothing",
			fillsUp,
		),
		{
			...onDisk(
				"the disk of the ledger is full when the host is killed: the watchdog ends the workers all the same",
				fullAtDeath,
			),
			with: [WATCHDOG],
			rounds: 5,
		},
	],
);

/** The files of the only run, by what their names end in. */
type Files = Readonly<Record<string, string>>;

const exchange = (path = ""): void => {
	rmSync(path);
	overwrite(path);
};

type Damage = (files: Files, dataDir: string) => void;

const DAMAGES: Readonly<Record<string, Damage>> = {
	"what is beside its file is truncated": (files) => {
		for (const [ending, path] of Object.entries(files))
			if (ending !== "db") truncateSync(path, 0);
	},
	"its file is truncated": ({ db = "" }) => truncateSync(db, 0),
	"its file is overwritten": ({ db }) => overwrite(db),
	"its file is removed": ({ db = "" }) => rmSync(db),
	"its file is exchanged for garbage": ({ db }) => exchange(db),
	"its lock is exchanged for garbage": ({ lock }) => exchange(lock),
	"its lock is exchanged for a directory": ({ lock = "" }) => {
		rmSync(lock);
		mkdirSync(lock);
	},
	"the whole directory is removed": (_, dataDir) =>
		rmSync(dataDir, { recursive: true }),
};

export const ledgerFromOutside: readonly ChaosCase[] = family(
	"the ledger is damaged from outside while its host lives",
	[GUARD],
	Object.entries(DAMAGES).flatMap(([what, damage]) => [
		{
			name: `${what}: the pool goes on and the ledger is made anew; the time is until it is, with a look every ${AUDIT_MS} ms`,
			rounds: 5,
			...(what === "its file is truncated" && { selected: 1 }),
			target: { maxMs: 5_000 },
			round: (stage: Stage) =>
				livesOn(stage, damage, what.startsWith("what is beside")),
		},
		{
			name: `${what}, and its host is killed at once: the next start ends the workers; the time is that of its clean-up`,
			rounds: 5,
			target: { maxMs: 2_000 },
			round: (stage: Stage) => killedAtOnce(stage, damage),
		},
	]),
);

/** Leaves shell workers and their run behind; returns its file. */
async function deadRun(stage: Stage): Promise<string> {
	const dead = await stage.ready(SHELL);
	dead.kill();
	await dead.exited;
	return openRunFile(stage.dataDir);
}

async function startOn(
	stage: Stage,
	damage: (file: string) => void,
): Promise<RoundOutcome> {
	damage(await deadRun(stage));
	const next = await stage.ready({ size: SIZE });
	return {
		goneMs: await next.fact<number>("startMs"),
		broken: unless(
			next.facts("registry.set_aside").length > 0,
			"It did not report that it set the file aside.",
		),
		...(await stage.leftBeside(next)),
	};
}

async function lockedRun(stage: Stage): Promise<RoundOutcome> {
	using stranger = new DatabaseSync(await deadRun(stage));
	stranger.exec("begin immediate");
	const next = await stage.ready({ size: SIZE, events: ["run.spared"] });
	const goneMs = await next.fact<number>("startMs");
	const spared = next.facts("run.spared").length;
	next.kill();
	await next.exited;
	return { goneMs, broken: unless(spared === 1, "It did not report that.") };
}

function refusedOn(
	stage: Stage,
	disk: string,
	code: string,
): Promise<RoundOutcome> {
	const before = onOwnDisk(stage.dataDir, disk);
	return refusedWith(code, stage.start({ size: SIZE }, { before }), stage);
}

async function fillsUp(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready(
		{ size: SIZE, events: ["registry.degraded", "registry.recovered"] },
		{ before: onOwnDisk(stage.dataDir, "size=2m") },
	);
	const empty = fillDisk(host.program().pid, stage.dataDir);
	// Ends and starts have to be recorded, until one needs another page; slots are filled again all the same.
	for (let deaths = 0; deaths < MOST_DEATHS; deaths++) {
		if (host.facts("registry.degraded").length > 0) break;
		await host.codeOf("die");
		await host.call("pid", {}, 10);
	}
	await host.fact("registry.degraded");
	empty();
	await host.fact("registry.recovered");
	return await stage.killAfterwards(host);
}

async function fullAtDeath(stage: Stage): Promise<RoundOutcome> {
	const before = onOwnDisk(stage.dataDir, "size=2m");
	const host = await stage.ready(SHELL, { before });
	await stage.sees("worker", SIZE);
	fillDisk(host.program().pid, stage.dataDir);
	return await stage.untilGone(host.kill());
}

function overwrite(path = ""): void {
	writeFileSync(path, Buffer.alloc(40_000, 0xa5));
}

function filesOf(dataDir: string): Files {
	const folder = join(dataDir, "runs");
	return Object.fromEntries(
		readdirSync(folder).map((name) => [
			name.slice(name.lastIndexOf(".") + 1),
			join(folder, name),
		]),
	);
}

/** @param isRepaired when no file has to be renewed. */
async function livesOn(
	stage: Stage,
	damage: Damage,
	isRepaired: boolean,
): Promise<RoundOutcome> {
	const host = await stage.ready({
		size: SIZE,
		events: ["registry.file_lost", "registry.file_renewed"],
		pool: { audit: { intervalMs: AUDIT_MS } },
	});
	const begunAt = performance.now();
	damage(filesOf(stage.dataDir), stage.dataDir);
	// A death has to be recorded; the slot is filled again all the same.
	host.call("die", {}, 0, 1);
	await host.call("pid", {}, 10);
	if (!isRepaired) await host.fact("registry.file_renewed");
	const goneMs = performance.now() - begunAt;
	return { goneMs, ...(await stage.killAfterwards(host)) };
}

async function killedAtOnce(
	stage: Stage,
	damage: Damage,
): Promise<RoundOutcome> {
	const host = await stage.ready(SHELL);
	damage(filesOf(stage.dataDir), stage.dataDir);
	host.kill();
	await host.exited;
	const next = await stage.ready({ size: SIZE });
	const { durationMs } = await next.fact<{ readonly durationMs: number }>(
		"cleanup.finished",
	);
	return {
		goneMs: durationMs,
		broken: unless(
			next.facts("orphan.reaped").length > 0,
			"The next start ended nothing.",
		),
		...(await stage.leftBeside(next)),
	};
}
