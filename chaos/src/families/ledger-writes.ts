import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
	type ChaosCase,
	family,
	GUARD,
	type RoundOutcome,
	unless,
} from "../case.ts";
import { COMPILED, SOURCE_CONDITION } from "../harness/host-process.ts";
import { openRunFile } from "../harness/run-files.ts";
import type { Stage } from "../harness/stage.ts";

const WRITER = fileURLToPath(
	new URL("../../programs/ledger-writer.ts", import.meta.url),
);
/** Longer than the life of a row by far. */
const WRITES_MS = 60;
/** The statuses of a row, in their order. */
const STATUSES = ["reserved", "active", "ended"];

export const ledgerWrites: readonly ChaosCase[] = family(
	"SIGKILL while the ledger is written",
	[GUARD],
	[
		{
			name: "every row that was acknowledged is there, as it was acknowledged",
			rounds: 1_000,
			parallel: 4,
			selected: 3,
			round: killWriter,
		},
	],
);

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
	return { broken: compare(openRunFile(stage.dataDir), acknowledged) };
}

/** What was acknowledged and is not in the file. A row may be further than its last acknowledgement. */
function compare(
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
