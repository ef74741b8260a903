import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
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
} from "../case.ts";
import {
	COMPILED,
	type HostProcess,
	SOURCE_CONDITION,
} from "../harness/host-process.ts";
import { enclosedRound, namespacesUnavailable } from "../harness/isolation.ts";
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
		if (chosen && (living.length === HOSTS || stage.chance.fraction() < 0.5)) {
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
	const [file = ""] = globSync(join(stage.dataDir, "runs/*.db"));
	return { broken: missingRows(file, acknowledged) };
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
