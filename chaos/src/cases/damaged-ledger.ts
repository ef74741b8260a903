import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import { openRunFiles } from "../harness/dead-run.ts";
import {
	fillDisk,
	mountsUnavailable,
	onOwnDisk,
} from "../harness/small-disk.ts";
import type { Stage } from "../harness/stage.ts";
import { processesOf, programBehind } from "../harness/stage-processes.ts";
import { ALONE, WATCHDOG, withLayers } from "./layers.ts";

const ROW = "a ledger that is damaged, locked, read-only or full";
const SIZE = 2;

/** What happened to the file of a dead run. */
const DAMAGES: readonly (readonly [string, (file: string) => void])[] = [
	["corrupt", (file) => writeFileSync(file, Buffer.alloc(20_000, 0xa5))],
	["truncated", (file) => truncateSync(file, 5_000)],
	["empty", (file) => writeFileSync(file, "")],
];

export const damagedLedger: readonly ChaosCase[] = [
	...DAMAGES.map(([name, damage]) =>
		withLayers(ALONE, {
			row: ROW,
			name: `the file of a dead run is ${name}: its workers are ended all the same; the time is until the pool is up`,
			rounds: 5,
			...(name === "corrupt" ? { selected: 1 } : {}),
			target: { maxMs: 1_000 },
			round: (stage) => startOn(stage, damage),
		}),
	),
	withLayers(ALONE, {
		row: ROW,
		name: "a stranger holds the file of a dead run: the pool is up, the run is spared; the time is until the pool is up",
		rounds: 5,
		target: { maxMs: 1_000 },
		round: lockedRun,
	}),
	withLayers(ALONE, {
		row: ROW,
		name: "the disk of the ledger is read-only: a clear error",
		rounds: 3,
		unavailable: mountsUnavailable,
		round: (stage) =>
			refusedOn(
				stage,
				onOwnDisk(stage.dataDir, "ro,size=1m"),
				"REGISTRY_UNWRITABLE",
			),
	}),
	withLayers(ALONE, {
		row: ROW,
		name: "the disk of the ledger has no room at the start: a clear error",
		rounds: 3,
		unavailable: mountsUnavailable,
		round: (stage) =>
			refusedOn(stage, onOwnDisk(stage.dataDir, "size=8k"), "REGISTRY_FULL"),
	}),
	withLayers(ALONE, {
		row: ROW,
		name: "the disk of the ledger fills up while a pool runs: it goes on, writes again when there is room, and SIGKILL leaves nothing",
		rounds: 3,
		unavailable: mountsUnavailable,
		round: fillsUp,
	}),
	withLayers(WATCHDOG, {
		row: ROW,
		name: "the disk of the ledger is full when the host is killed: the watchdog ends the workers all the same",
		rounds: 5,
		unavailable: mountsUnavailable,
		round: fullAtDeath,
	}),
];

async function deadRun(stage: Stage): Promise<string> {
	const dead = await stage.ready({ worker: "shell", size: SIZE });
	dead.kill();
	await dead.exited;
	const [file] = openRunFiles(stage.dataDir);
	if (file === undefined) throw new Error("The dead host left no run.");
	return file;
}

async function startOn(
	stage: Stage,
	damage: (file: string) => void,
): Promise<RoundOutcome> {
	const file = await deadRun(stage);
	damage(file);
	const next = await stage.ready({ size: SIZE });
	const upMs = (await next.told<number>("startMs")) ?? 0;
	const broken =
		next.all("registry.set_aside").length > 0
			? []
			: ["It did not say that it set the file aside."];
	const { leftovers } = await stage.untilGone(
		performance.now(),
		processesOf(next),
	);
	const last = await stage.killAfterwards(next);
	return { goneMs: upMs, broken, leftovers: leftovers + last.leftovers };
}

async function lockedRun(stage: Stage): Promise<RoundOutcome> {
	const stranger = new DatabaseSync(await deadRun(stage));
	stranger.exec("begin immediate");
	try {
		const next = await stage.ready({ size: SIZE, events: ["run.spared"] });
		const goneMs = await next.told<number>("startMs");
		const spared = next.all("run.spared").length;
		next.kill();
		await next.exited;
		return { goneMs, broken: spared === 1 ? [] : ["It did not say so."] };
	} finally {
		stranger.close();
	}
}

async function refusedOn(
	stage: Stage,
	before: readonly string[],
	code: string,
): Promise<RoundOutcome> {
	const host = stage.start({ size: SIZE }, { before });
	const said = await host.told("refused");
	await host.exited;
	const { leftovers } = await stage.untilGone(performance.now());
	return {
		leftovers,
		broken: said === code ? [] : [`It said ${said} instead of ${code}.`],
	};
}

async function fillsUp(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready(
		{ size: SIZE, events: ["registry.degraded", "registry.recovered"] },
		{ before: onOwnDisk(stage.dataDir, "size=2m") },
	);
	const { pid } = programBehind(host, stage);
	const empty = fillDisk(join("/proc", String(pid), "root", stage.dataDir));
	// A death has to be written down; the slot is filled again all the same.
	host.order({ id: "die", call: "die", times: 1 });
	await host.told("registry.degraded");
	await host.call("pid", {}, 10);
	empty();
	await host.told("registry.recovered");
	return await stage.killAfterwards(host);
}

/** Shell workers: no lifeline of theirs ends them. */
async function fullAtDeath(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready(
		{ worker: "shell", size: SIZE },
		{ before: onOwnDisk(stage.dataDir, "size=2m") },
	);
	await stage.sees("worker", SIZE);
	const { pid } = programBehind(host, stage);
	fillDisk(join("/proc", String(pid), "root", stage.dataDir));
	return await stage.untilGone(host.kill());
}
