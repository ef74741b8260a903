import { existsSync } from "node:fs";
import type { HistoryOptions, RunHistory } from "@snakepit/core/inspect";
import type { Command } from "commander";
import { CommandFailed } from "../command/command-failed.ts";
import { DATA_DIR, JSON_FLAG } from "../command/common-flags.ts";
import { positiveNumber } from "../command/numbers.ts";
import { coloured, write } from "../command/output.ts";
import { table } from "../command/table.ts";
import { dayAndTime, duration, placed } from "../wording/figures.ts";
import { lasted } from "../wording/run-history.ts";
import { incidentLines } from "./incident-lines.ts";
import { endText, incidentsOf } from "./incidents.ts";
import { type SeenRun, seen, verdictOn } from "./look.ts";
import { addReap } from "./reap-command.ts";

interface RunsFlags {
	readonly all?: boolean;
	readonly dataDir?: string;
	readonly json?: boolean;
	readonly lines?: boolean;
	readonly run?: string;
	readonly runs?: number;
}

interface HistoryFlags extends RunsFlags {
	readonly runs: number;
}

/** Adds `snakepit ps`, `history` and `incidents`, which need no living run. */
export function addRuns(program: Command): void {
	const add = (name: string, description: string): Command =>
		program
			.command(name)
			.description(description)
			.option("--run <id>", "only this run: its id, or the beginning of it")
			.option(...DATA_DIR)
			.option(...JSON_FLAG);
	add("ps", "list open runs and their workers")
		.option("-a, --all", "also runs that have ended")
		.action(ps);
	add("history", "list how runs began and ended, latest first")
		.option("--runs <number>", "at most this many runs", positiveNumber, 20)
		.action(history);
	add("incidents", "list crashes, kills and lost hosts, latest first")
		.option("--lines", "with the last lines of each worker's output")
		.option(
			"--runs <number>",
			"from at most this many runs",
			positiveNumber,
			200,
		)
		.action(incidents);
	addReap(program);
}

async function ps(flags: RunsFlags): Promise<void> {
	const { all = false, json } = flags;
	const { isAlive } = await import("@snakepit/core/inspect");
	const found = await read(flags, all ? undefined : "living");
	const every = found.map((run) => seen(run, isAlive));
	const verdict = verdictOn(every);
	if (!verdict.isGood) process.exitCode = 1;
	const runs = every.filter(
		({ condition, workers }) =>
			all ||
			condition !== "ended" ||
			workers.some((worker) => worker.condition === "left"),
	);
	if (json) return write(JSON.stringify({ verdict, runs }, undefined, 2));
	write(coloured(verdict.text, verdict.isGood));
	if (runs.length > 0) write(lines([PS_TITLES, ...runs.flatMap(psRows)]));
}

const PS_TITLES = ["RUN", "PROGRAM, POOL", "WORKER", "PID", "STATE", "AGE"];

function psRows(run: SeenRun): readonly (readonly string[])[] {
	const { runId, condition, pid, program, startedAt, endedAt } = run;
	const now = Date.now();
	const age = duration((endedAt ?? now) - startedAt);
	const workers = run.workers.filter((each) => each.condition !== "ended");
	return [
		[runId, program ?? "", "(host)", String(pid), condition, age],
		...workers.map((worker) => [
			runId,
			worker.pool,
			placed(worker.workerId, worker.place),
			String(worker.place?.pid ?? worker.pid ?? ""),
			worker.condition,
			duration(now - worker.startedAt),
		]),
	];
}

/** The requested runs, latest first. */
async function read(
	{ dataDir, run, runs }: RunsFlags,
	only?: HistoryOptions["only"],
): Promise<readonly RunHistory[]> {
	const { readHistory } = await import("@snakepit/core/inspect");
	// A program may not have made it yet; more often, the path has a typing error.
	if (dataDir !== undefined && !existsSync(dataDir))
		process.stderr.write(`snakepit: there is no directory ${dataDir}.\n`);
	if (run === undefined)
		return await Array.fromAsync(readHistory({ dataDir, runs, only }));
	const all = await Array.fromAsync(readHistory({ dataDir, only }));
	const found = all.filter(({ runId }) => runId.startsWith(run));
	if (found.length > 0) return found.slice(0, runs);
	throw new CommandFailed(
		"absent",
		only === "living"
			? `No run "${run}" is alive. List ended runs: snakepit history.`
			: `No run "${run}" is recorded. List recorded runs: snakepit history.`,
	);
}

async function history(flags: HistoryFlags): Promise<void> {
	const { json, runs } = flags;
	// One more than requested shows whether there are older runs.
	const newest = await read({ ...flags, runs: runs + 1 });
	const found = newest.slice(0, runs);
	if (json) return write(JSON.stringify(found, undefined, 2));
	if (found.length === 0) return write("No run is recorded.");
	write(
		lines([
			["RUN", "PROGRAM", "BEGAN", "LASTED", "WORKERS", "END"],
			...found.map((run) => [
				run.runId,
				run.program?.name ?? "",
				dayAndTime(run.startedAt),
				lasted(run, Date.now()),
				String(run.workerCount),
				endText(run),
			]),
		]),
	);
	if (newest.length > runs)
		write(`Older runs are not shown: snakepit history --runs ${2 * runs}`);
}

/** Incidents without a time come first. The number is finite, so that two of them compare as equal. */
const LATEST = Number.MAX_SAFE_INTEGER;

async function incidents(flags: RunsFlags): Promise<void> {
	const { json } = flags;
	const found = (await read(flags))
		.flatMap(incidentsOf)
		.toSorted((a, b) => (b.wallMs ?? LATEST) - (a.wallMs ?? LATEST));
	if (json) return write(JSON.stringify(found, undefined, 2));
	for (const line of incidentLines(found, flags.lines ?? false)) write(line);
}

function lines(rows: readonly (readonly string[])[]): string {
	return table(rows).join("\n");
}
