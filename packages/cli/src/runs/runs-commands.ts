import type { HistoryOptions, RunHistory } from "@snakepit/core/inspect";
import type { Command } from "commander";
import { DATA_DIR, JSON_FLAG } from "../command/common-flags.ts";
import { positiveNumber } from "../command/numbers.ts";
import { coloured, write } from "../command/output.ts";
import { table } from "../command/table.ts";
import { dayAndTime, duration } from "../wording/figures.ts";
import { endText, incidentsOf } from "./incidents.ts";
import { type SeenRun, seen, verdictOn } from "./look.ts";
import { addReap } from "./reap-command.ts";

interface RunsFlags {
	readonly all?: boolean;
	readonly dataDir?: string;
	readonly json?: boolean;
	readonly lines?: boolean;
	readonly runs?: number;
}

/** Adds `snakepit ps`, `history` and `incidents`, which need no living run. */
export function addRuns(program: Command): void {
	const add = (name: string, description: string): Command =>
		program
			.command(name)
			.description(description)
			.option(...DATA_DIR)
			.option(...JSON_FLAG);
	add("ps", "list the runs and workers that live now")
		.option("-a, --all", "also runs that have ended")
		.action(ps);
	add("history", "list how runs began and ended, latest first")
		.option("--runs <number>", "at most so many", positiveNumber, 20)
		.action(history);
	add(
		"incidents",
		"list what ended otherwise than its host wanted, latest first",
	)
		.option("--lines", "with the last lines of what each worker printed")
		.option("--runs <number>", "of at most so many runs", positiveNumber, 200)
		.action(incidents);
	addReap(program);
}

async function ps({ all = false, dataDir, json }: RunsFlags): Promise<void> {
	const every = await runsOf(dataDir, all ? undefined : "living");
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
			worker.place === undefined
				? worker.workerId
				: `${worker.workerId} on ${worker.place}`,
			String(worker.pid ?? ""),
			worker.condition,
			duration(now - worker.startedAt),
		]),
	];
}

async function runsOf(
	dataDir: string | undefined,
	only: HistoryOptions["only"],
): Promise<SeenRun[]> {
	const { isAlive } = await import("@snakepit/core/inspect");
	const found = await Array.fromAsync(await read({ dataDir, only }));
	return found.map((run) => seen(run, isAlive));
}

async function read(
	options: HistoryOptions,
): Promise<AsyncGenerator<RunHistory, void>> {
	const { readHistory } = await import("@snakepit/core/inspect");
	return readHistory(options);
}

async function history({ dataDir, json, runs }: RunsFlags): Promise<void> {
	const found = await Array.fromAsync(await read({ dataDir, runs }));
	if (json) return write(JSON.stringify(found, undefined, 2));
	if (found.length === 0) return write("No run is recorded.");
	write(
		lines([
			["RUN", "PROGRAM", "BEGAN", "LASTED", "WORKERS", "END"],
			...found.map((run) => [
				run.runId,
				run.program?.name ?? "",
				dayAndTime(run.startedAt),
				lasted(run),
				String(run.workerCount),
				endText(run),
			]),
		]),
	);
}

function lasted({ state, startedAt, endedAt }: RunHistory): string {
	if (endedAt !== undefined) return duration(endedAt - startedAt);
	return state === "host_died" ? "unknown" : "";
}

/** Incidents without a time come first. Finite, so that two of them compare as equal. */
const LATEST = Number.MAX_SAFE_INTEGER;

async function incidents(flags: RunsFlags): Promise<void> {
	const { dataDir, json, runs } = flags;
	const found = (await Array.fromAsync(await read({ dataDir, runs })))
		.flatMap(incidentsOf)
		.toSorted((a, b) => (b.wallMs ?? LATEST) - (a.wallMs ?? LATEST));
	if (json) return write(JSON.stringify(found, undefined, 2));
	if (found.length === 0)
		return write("Nothing ended otherwise than its host wanted.");
	const [titles = "", ...rows] = table([
		["TIME", "RUN", "WHAT"],
		...found.map(({ wallMs, runId, text, lines }) => [
			wallMs === undefined ? "unknown" : dayAndTime(wallMs),
			runId,
			flags.lines || lines.length === 0
				? text
				: `${text}; last line: ${lines.at(-1)}`,
		]),
	]);
	write(titles);
	for (const [index, row] of rows.entries()) {
		write(row);
		if (flags.lines)
			for (const line of found[index]?.lines ?? []) write(`    ${line}`);
	}
}

function lines(rows: readonly (readonly string[])[]): string {
	return table(rows).join("\n");
}
