import { spawn } from "node:child_process";
import { once } from "node:events";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	rmSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { RECYCLED_PATHS } from "../../programs/recycled-pids/paths.ts";
import {
	ALONE,
	BOTH,
	type ChaosCase,
	family,
	GUARD,
	type RoundOutcome,
	unless,
	WATCHDOG,
} from "../case.ts";
import {
	COMPILED,
	type HostProcess,
	SOURCE_CONDITION,
} from "../harness/host-process.ts";
import {
	enclosedRound,
	fillDisk,
	mountsUnavailable,
	namespacesUnavailable,
	onOwnDisk,
} from "../harness/isolation.ts";
import { lives, type SeenProcess } from "../harness/processes.ts";
import type { Stage } from "../harness/stage.ts";

const WRITER = fileURLToPath(
	new URL("../../programs/ledger-writer.ts", import.meta.url),
);
const SIZE = 2;
/** Without a lifeline that would end them with their host. */
const SHELL = { worker: "shell", lifeline: "off" } as const;
/** Recycled in one round, at least: so many workers end together. */
const PIDS = 12;
/** Hosts at once, and kills and starts in one round, drawn one after the other. */
const HOSTS = 3;
const STEPS = 5;
/** Longer than the life of a row by far. */
const WRITES_MS = 60;
/** The statuses of a row, in their order. */
const STATUSES = ["reserved", "active", "ended"];
/** Often enough that a round does not wait for the audit. */
const AUDIT_MS = 500;

export const ledger: readonly ChaosCase[] = [
	...family(
		"hosts on one ledger, killed and started at random",
		[ALONE, BOTH],
		[
			{
				name: `${HOSTS} hosts, killed with all their protections, ${STEPS} kills or starts a round`,
				perRound: STEPS,
				selected: BOTH,
				round: killAndStart,
			},
		],
	),
	...family(
		`pids of ours are recycled, ${PIDS} a round, and strangers have them before the signal`,
		[ALONE],
		Object.entries(RECYCLED_PATHS).map(([path, name]) => ({
			name,
			perRound: PIDS,
			parallel: 2,
			selected: ALONE,
			unavailable: namespacesUnavailable,
			round: (stage) => enclosedRound(stage, path, PIDS),
		})),
	),
	...family(
		"SIGKILL while the ledger is written",
		[GUARD],
		[
			{
				name: "every row that was acknowledged is there, as it was acknowledged",
				parallel: 2,
				selected: GUARD,
				round: killWriter,
			},
		],
	),
	...family(
		"the ledger is damaged from outside while its host lives, in a way and at a moment that are drawn",
		[GUARD],
		[
			{
				name: "the pool goes on and the ledger is made anew; the time is until it is",
				selected: GUARD,
				round: livesOn,
			},
			{
				name: "and its host is killed: the next start ends the workers; the time is that of its clean-up",
				with: [ALONE],
				selected: ALONE,
				round: killedAfterwards,
			},
			{
				name: "its disk is full when the host is killed: the watchdog ends the workers all the same",
				with: [WATCHDOG],
				unavailable: mountsUnavailable,
				round: fullAtDeath,
			},
		],
	),
];

/**
 * Shell workers: the dead ones stay until a next start ends them, which is when a living one, or a process that is
 * nobody's, could be hit.
 */
async function killAndStart(stage: Stage): Promise<RoundOutcome> {
	interface Living {
		readonly host: HostProcess;
		readonly workers: readonly SeenProcess[];
	}
	const living: Living[] = [];
	let falseKills = 0;
	const lost = ({ host, workers }: Living): number =>
		Math.max(
			workers.filter((each) => !lives(each)).length,
			host.facts("worker.exited").length,
		);
	const start = async (): Promise<void> => {
		const host = await stage.ready({ ...SHELL, size: SIZE });
		living.push({ host, workers: host.processes() });
	};
	await stage.bystander();
	await Promise.all(Array.from({ length: HOSTS }, start));
	for (let step = 0; step < STEPS; step++) {
		const at = stage.chance.below(HOSTS);
		const chosen = living[at];
		if (chosen && (living.length === HOSTS || stage.chance.of(0.5))) {
			falseKills += lost(chosen);
			living.splice(at, 1);
			chosen.host.killWithItsProtections();
			await chosen.host.exited;
		} else await start();
	}
	// One more start, which cleans up after the last of the dead.
	await start();
	falseKills += living.map(lost).reduce((total, each) => total + each, 0);
	const except = living.flatMap(({ host }) => host.processes());
	const { leftovers, left } = await stage.untilGone(performance.now(), except);
	return { leftovers, left, falseKills, wrongKills: stage.wrongKills };
}

async function killWriter(stage: Stage): Promise<RoundOutcome> {
	const child = spawn(
		process.execPath,
		[SOURCE_CONDITION, WRITER, stage.dataDir],
		{
			stdio: ["ignore", "pipe", "inherit"],
			env: { ...process.env, ...stage.env, NODE_COMPILE_CACHE: COMPILED },
		},
	);
	const exited = once(child, "exit");
	const acknowledged = new Map<string, number>();
	const lines = createInterface({ input: child.stdout });
	const closed = once(lines, "close");
	const writes = once(lines, "line");
	lines.on("line", (line) => {
		const [status = "", incarnation = ""] = line.split(" ");
		const rank = STATUSES.indexOf(status);
		if (rank >= 0) acknowledged.set(incarnation, rank);
	});
	await writes;
	await sleep(stage.chance.fraction() * WRITES_MS);
	child.kill("SIGKILL");
	await Promise.all([exited, closed]);
	const { db = "" } = filesOf(stage.dataDir);
	return { broken: missingRows(db, acknowledged) };
}

/** What was acknowledged and is not in the file. A row may be further than its last acknowledgement. */
function missingRows(
	file: string,
	acknowledged: ReadonlyMap<string, number>,
): readonly string[] {
	using database = new DatabaseSync(file);
	const sound = database.prepare("pragma integrity_check").get();
	const rows = new Map(
		database
			.prepare("select incarnation, status from workers")
			.all()
			.map(({ incarnation, status }) => [
				String(incarnation),
				STATUSES.indexOf(String(status)),
			]),
	);
	const isThere = ([incarnation, rank]: [string, number]): boolean =>
		(rows.get(incarnation) ?? -1) >= rank;
	return [
		...unless(
			[...acknowledged].every(isThere),
			"An acknowledged row is not there.",
		),
		...unless(sound?.["integrity_check"] === "ok", "The file is not sound."),
	];
}

/** The files of the only run, by what their names end in. */
type Files = Readonly<Record<string, string>>;

function filesOf(dataDir: string): Files {
	const folder = join(dataDir, "runs");
	return Object.fromEntries(
		readdirSync(folder).map((name) => [
			name.slice(name.lastIndexOf(".") + 1),
			join(folder, name),
		]),
	);
}

function overwrite(path = ""): void {
	writeFileSync(path, Buffer.alloc(40_000, 0xa5));
}

function exchange(path = ""): void {
	rmSync(path);
	overwrite(path);
}

type Damage = (files: Files, dataDir: string) => void;

/** Those after the first need a file to be made anew. */
const DAMAGES: readonly (readonly [string, Damage])[] = [
	[
		"what is beside its file was truncated",
		(files) => {
			// A journal may be gone meanwhile.
			for (const [ending, path] of Object.entries(files))
				if (ending !== "db" && existsSync(path)) truncateSync(path, 0);
		},
	],
	["its file was truncated", ({ db = "" }) => truncateSync(db, 0)],
	["its file was overwritten", ({ db }) => overwrite(db)],
	["its file was removed", ({ db = "" }) => rmSync(db)],
	["its file was exchanged for garbage", ({ db }) => exchange(db)],
	["its lock was exchanged for garbage", ({ lock }) => exchange(lock)],
	[
		"its lock was exchanged for a directory",
		({ lock = "" }) => {
			rmSync(lock);
			mkdirSync(lock);
		},
	],
	[
		"the whole directory was removed",
		// The host may write a file in it meanwhile.
		(_, dataDir) => rmSync(dataDir, { recursive: true, maxRetries: 10 }),
	],
];

/** Damages the ledger while its host records the ends and starts of workers. */
async function damage(
	stage: Stage,
	host: HostProcess,
	[, change]: (typeof DAMAGES)[number],
): Promise<void> {
	host.call("die", {}, 0, 1);
	await sleep(stage.chance.fraction() * 300);
	change(filesOf(stage.dataDir), stage.dataDir);
}

async function livesOn(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready({
		size: SIZE,
		events: ["registry.file_renewed"],
		pool: { audit: { intervalMs: AUDIT_MS } },
	});
	const chosen = stage.chance.pick(DAMAGES);
	const [name] = chosen;
	const begunAt = performance.now();
	await damage(stage, host, chosen);
	// A death has to be recorded; the slot is filled again all the same.
	host.call("die", {}, 0, 1);
	await host.call("pid", {}, 10);
	if (chosen !== DAMAGES[0])
		await host.fact("registry.file_renewed").catch((error: Error) => {
			throw new Error(`${name}: ${error.message}`);
		});
	const goneMs = performance.now() - begunAt;
	return { goneMs, ...(await stage.killAfterwards(host)) };
}

async function killedAfterwards(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready({ ...SHELL, size: SIZE });
	const chosen = stage.chance.pick(DAMAGES);
	const [name, change] = chosen;
	change(filesOf(stage.dataDir), stage.dataDir);
	await sleep(stage.chance.of(0.5) ? 0 : stage.chance.fraction() * 300);
	host.kill();
	await host.exited;
	const next = await stage.ready({ size: SIZE });
	const { durationMs } = await next.fact<{ readonly durationMs: number }>(
		"cleanup.finished",
	);
	const ended = next.facts("orphan.reaped").length;
	return {
		goneMs: durationMs,
		broken: unless(ended > 0, `The next start ended nothing: ${name}.`),
		...(await stage.leftBeside(next)),
	};
}

async function fullAtDeath(stage: Stage): Promise<RoundOutcome> {
	const before = onOwnDisk(stage.dataDir, "size=2m");
	const host = await stage.ready({ ...SHELL, size: SIZE }, { before });
	await stage.sees("worker", SIZE);
	fillDisk(host.program().pid, stage.dataDir);
	return await stage.untilGone(host.kill());
}
