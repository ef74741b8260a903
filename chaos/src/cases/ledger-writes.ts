import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import { openRunFiles } from "../harness/dead-run.ts";
import { COMPILED, SOURCE_CONDITION } from "../harness/host-process.ts";
import type { Stage } from "../harness/stage.ts";
import { ALONE, withLayers } from "./layers.ts";

const WRITER = fileURLToPath(
	new URL("../../programs/ledger-writer.ts", import.meta.url),
);
/** Longer than the life of a row by far. */
const WITHIN_MS = 60;
/** What a row may say, in its order. */
const STATUSES = ["reserved", "active", "ended"];

export const ledgerWrites: readonly ChaosCase[] = [
	withLayers(ALONE, {
		row: "SIGKILL while the ledger is written",
		name: "every row that was acknowledged is there, as it was acknowledged",
		rounds: 1_000,
		parallel: 4,
		selected: 3,
		round: killWriter,
	}),
];

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
	await sleep(stage.random.fraction() * WITHIN_MS);
	child.kill("SIGKILL");
	await Promise.all([exited, closed]);
	const [file] = openRunFiles(stage.dataDir);
	if (file === undefined) return { broken: ["The run has no file."] };
	return { broken: compare(file, acknowledged) };
}

/** What was acknowledged and is not in the file. A row may be further than what was told of it. */
function compare(
	file: string,
	acknowledged: ReadonlyMap<string, number>,
): readonly string[] {
	const database = new DatabaseSync(file);
	const sound = database.prepare("pragma integrity_check").get();
	const rows = new Map(
		database
			.prepare("select incarnation, status from workers")
			.all()
			.map((row) => [
				String(row["incarnation"]),
				STATUSES.indexOf(String(row["status"])),
			]),
	);
	database.close();
	const lost = [...acknowledged].filter(
		([incarnation, rank]) => (rows.get(incarnation) ?? -1) < rank,
	).length;
	return [
		...(lost === 0 ? [] : ["An acknowledged row is not there."]),
		...(sound?.["integrity_check"] === "ok" ? [] : ["The file is not sound."]),
	];
}
