import {
	mkdirSync,
	readdirSync,
	rmSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import type { Stage } from "../harness/stage.ts";
import { processesOf } from "../harness/stage-processes.ts";
import { ALONE, withLayers } from "./layers.ts";

const ROW = "a ledger that is damaged from outside while its host lives";
const SIZE = 2;
/** Often enough that a round does not wait for the look. */
const AUDIT_MS = 500;

interface Damage {
	readonly what: string;
	/** @param files those of the run, by what their names end in. */
	readonly to: (dataDir: string, files: ReadonlyMap<string, string>) => void;
	/** How many files the host makes anew. */
	readonly renewed: number;
}

function overwrite(path = ""): void {
	writeFileSync(path, Buffer.alloc(40_000, 0xa5));
}

function exchange(path = ""): void {
	rmSync(path);
	overwrite(path);
}

const DAMAGES: readonly Damage[] = [
	{
		what: "what is beside its file is truncated",
		to: (_, files) => {
			for (const [ending, path] of files)
				if (ending !== "db") truncateSync(path, 0);
		},
		renewed: 0,
	},
	{
		what: "its file is truncated",
		to: (_, files) => truncateSync(files.get("db") ?? "", 0),
		renewed: 1,
	},
	{
		what: "its file is overwritten",
		to: (_, files) => overwrite(files.get("db")),
		renewed: 1,
	},
	{
		what: "its file is removed",
		to: (_, files) => rmSync(files.get("db") ?? ""),
		renewed: 1,
	},
	{
		what: "its file is exchanged for garbage",
		to: (_, files) => exchange(files.get("db")),
		renewed: 1,
	},
	{
		what: "its lock is exchanged for garbage",
		to: (_, files) => exchange(files.get("lock")),
		renewed: 1,
	},
	{
		what: "its lock is exchanged for a directory",
		to: (_, files) => {
			const path = files.get("lock") ?? "";
			rmSync(path);
			mkdirSync(path);
		},
		renewed: 1,
	},
	{
		what: "the whole directory is removed",
		to: (dataDir) => rmSync(dataDir, { recursive: true }),
		renewed: 2,
	},
];

export const ledgerFromOutside: readonly ChaosCase[] = DAMAGES.flatMap(
	(damage) => [
		withLayers(ALONE, {
			row: ROW,
			name: `${damage.what}: the pool goes on and the ledger is made anew; the time is until it is, with a look every ${AUDIT_MS} ms`,
			rounds: 5,
			...(damage.what === "its file is truncated" ? { selected: 1 } : {}),
			target: { maxMs: 5_000 },
			round: (stage) => livesOn(stage, damage),
		}),
		withLayers(ALONE, {
			row: ROW,
			name: `${damage.what}, and its host is killed at once: the next start ends the workers; the time is that of its clean-up`,
			rounds: 5,
			target: { maxMs: 2_000 },
			round: (stage) => killedAtOnce(stage, damage),
		}),
	],
);

/** The files of the only run. */
function filesOf(dataDir: string): ReadonlyMap<string, string> {
	const folder = join(dataDir, "runs");
	return new Map(
		readdirSync(folder).map((name) => [
			name.slice(name.lastIndexOf(".") + 1),
			join(folder, name),
		]),
	);
}

async function livesOn(stage: Stage, damage: Damage): Promise<RoundOutcome> {
	const host = await stage.ready({
		size: SIZE,
		events: ["registry.file_lost", "registry.file_renewed"],
		pool: { audit: { intervalMs: AUDIT_MS } },
	});
	const begunAt = performance.now();
	damage.to(stage.dataDir, filesOf(stage.dataDir));
	// A death has to be written down; the slot is filled again all the same.
	host.order({ id: "die", call: "die", times: 1 });
	await host.call("pid", {}, 10);
	if (damage.renewed > 0) await host.told("registry.file_renewed");
	const goneMs = performance.now() - begunAt;
	const last = await stage.killAfterwards(host);
	return { goneMs, leftovers: last.leftovers };
}

/** Shell workers: no lifeline of theirs ends them. */
async function killedAtOnce(
	stage: Stage,
	damage: Damage,
): Promise<RoundOutcome> {
	const host = await stage.ready({ worker: "shell", size: SIZE });
	damage.to(stage.dataDir, filesOf(stage.dataDir));
	host.kill();
	await host.exited;
	const next = await stage.ready({ size: SIZE });
	const finished = await next.told<{ readonly durationMs: number }>(
		"cleanup.finished",
	);
	const goneMs = finished?.durationMs;
	const reaped = next.all("orphan.reaped").length;
	const { leftovers } = await stage.untilGone(
		performance.now(),
		processesOf(next),
	);
	const last = await stage.killAfterwards(next);
	return {
		goneMs,
		leftovers: leftovers + last.leftovers,
		broken: reaped > 0 ? [] : ["The next start ended nothing."],
	};
}
