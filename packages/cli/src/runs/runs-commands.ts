import type { RunHistory } from "@snakepit/core/inspect";
import { foldedFrames, tellingLine } from "@snakepit/core/text";
import type { Command } from "commander";
import { CommandFailed, noteAbsent } from "../command/failures.ts";
import { DATA_DIR, JSON_FLAG, positiveNumber } from "../command/flags.ts";
import {
	folded,
	quoted,
	shortenedInside,
	table,
	terminalColumns,
	write,
} from "../command/output.ts";
import { counted, dayAndTime, plainText } from "../wording/figures.ts";
import {
	actEntries,
	type EntryFacts,
	endSeen,
	historyEntries,
	lasted,
	runEnd,
} from "../wording/run-history.ts";
import {
	alikeText,
	type FoldedRow,
	foldedRows,
	timesText,
} from "./folded-rows.ts";
import { runMeant } from "./named-run.ts";
import { otherLedgerLines, otherLedgers } from "./other-ledgers.ts";
import { addPs } from "./ps-command.ts";
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
			.option(
				"--run <id>",
				"only this run: its id, the beginning of it, its program or a pool",
			)
			.option(...DATA_DIR)
			.option(...JSON_FLAG);
	addPs(program);
	add("history", "list how runs began and ended, latest first")
		.option("--runs <number>", "at most this many runs", positiveNumber, 20)
		.action(history);
	add("incidents", "list crashes, kills and lost hosts, latest first")
		.option("--lines", "with the last lines of each worker's output")
		.option("--all", "every one, in a row of its own")
		.option(
			"--runs <number>",
			"from at most this many runs",
			positiveNumber,
			200,
		)
		.action(incidents);
	addReap(program);
}

/** The requested runs, latest first. */
async function read({
	dataDir,
	json,
	run,
	runs,
}: RunsFlags): Promise<readonly RunHistory[]> {
	const { readHistory } = await import("@snakepit/core/inspect");
	noteAbsent(dataDir, json);
	if (run === undefined)
		return await Array.fromAsync(readHistory({ dataDir, runs }));
	const meant = await runMeant(run, dataDir);
	const all = await Array.fromAsync(readHistory({ dataDir }));
	const matches = all.filter(({ runId }) => runId.startsWith(meant));
	if (matches.length > 0) return matches.slice(0, runs);
	throw new CommandFailed(
		"absent",
		`No run "${run}" is recorded. List recorded runs: snakepit history.`,
	);
}

async function history(flags: HistoryFlags): Promise<void> {
	const { json, runs } = flags;
	// One more than requested shows whether there are older runs.
	const newest = await read({ ...flags, runs: runs + 1 });
	const shown = newest.slice(0, runs);
	if (json) return write(JSON.stringify(shown, undefined, 2));
	const where =
		flags.dataDir === undefined ? "" : ` --data-dir ${quoted(flags.dataDir)}`;
	const withAll = flags.run !== undefined;
	const columns = terminalColumns();
	const lines =
		shown.length === 0
			? ["No run is recorded."]
			: historyLines(shown, withAll, where, columns);
	const older =
		newest.length > runs
			? [
					`Older runs are not shown: snakepit history --runs ${2 * runs}${where}`,
				]
			: [];
	for (const line of [...lines, ...older, ...(await othersOf(flags))])
		for (const part of folded(line, columns)) write(part);
}

/** About other ledgers, where all runs are asked for. */
async function othersOf({
	dataDir,
	run,
}: RunsFlags): Promise<readonly string[]> {
	return dataDir === undefined && run === undefined
		? otherLedgerLines(await otherLedgers())
		: [];
}

/** So many acts of others are shown of each run, unless one run is asked for. */
const MOST_ACTS = 3;

/**
 * Each run as a row, with what others asked of its pools below it.
 *
 * @param withAll everything that was asked and went wrong follows, oldest first.
 * @param where the flag with which commands find the same ledger; empty for the usual one.
 * @param columns of the terminal: where a row is longer, how the run ended is below it. 0 elsewhere.
 */
export function historyLines(
	runs: readonly RunHistory[],
	withAll: boolean,
	where: string,
	columns: number,
): readonly string[] {
	const isNarrow = columns > 0 && columns < WIDE_COLUMNS;
	const name = ({ program }: RunHistory): string =>
		isNarrow
			? shortenedInside(program?.name ?? "", NAME_COLUMNS)
			: (program?.name ?? "");
	const [titles = "", ...rows] = table([
		["RUN", "PROGRAM", "BEGAN", "LASTED", "WORKERS", "END"],
		...runs.map((run) => [
			...[run.runId, name(run), dayAndTime(run.startedAt)],
			...[lasted(run, Date.now()), String(run.workerCount), endText(run)],
		]),
	]);
	return [
		titles,
		...runs.flatMap((run, index) => [
			...endBelow(rows[index] ?? "", run, columns),
			...(withAll ? timeline(run) : actsOfOthers(run, where)),
		]),
	];
}

/** In a terminal that is not as wide, a longer name is shortened inside. */
const WIDE_COLUMNS = 120;
const NAME_COLUMNS = 20;

/** A row that is too long ends with the state of the run in a word, and what is known of its end follows. */
function endBelow(
	row: string,
	run: RunHistory,
	columns: number,
): readonly string[] {
	const { word, detail } = runEnd(run);
	if (columns === 0 || row.length <= columns || detail === undefined)
		return [row];
	const begin = row.slice(0, row.length - endText(run).length);
	return [`${begin}${word}`, `    ${detail}`];
}

function actsOfOthers(run: RunHistory, where: string): readonly string[] {
	const acts = actEntries(run).filter(({ isFromOutside }) => isFromOutside);
	const hidden = acts.length - MOST_ACTS;
	return [
		...(hidden > 0
			? [
					`    ${counted(hidden, "earlier request")}: snakepit history --run ${run.runId}${where}`,
				]
			: []),
		...acts.slice(-MOST_ACTS).map(timed),
	];
}

function timeline(run: RunHistory): readonly string[] {
	const entries = [...incidentsOf(run), ...actEntries(run)];
	return entries
		.toSorted((a, b) => (a.wallMs ?? LATEST) - (b.wallMs ?? LATEST))
		.map(timed);
}

function timed({
	wallMs,
	text,
}: {
	readonly wallMs: number | undefined;
	readonly text: string;
}): string {
	const time = wallMs === undefined ? "unknown" : dayAndTime(wallMs);
	return `    ${time}  ${oneLine(text)}`;
}

/** Incidents without a time come first. The number is finite, so that two of them compare as equal. */
const LATEST = Number.MAX_SAFE_INTEGER;

async function incidents(flags: RunsFlags): Promise<void> {
	const { json } = flags;
	const all = (await read(flags))
		.flatMap(incidentsOf)
		.toSorted((a, b) => (b.wallMs ?? LATEST) - (a.wallMs ?? LATEST));
	if (json) return write(JSON.stringify(all, undefined, 2));
	const columns = terminalColumns();
	const lines = incidentLines(
		all,
		flags.lines ?? false,
		columns,
		flags.all ? "every" : "folded",
	);
	const others = await othersOf(flags);
	for (const line of [
		...lines,
		...others.flatMap((each) => folded(each, columns)),
	])
		write(line);
}

/** An end that the host did not want, or an action of a protection. */
interface RunIncident extends Omit<EntryFacts, "type"> {
	/** `undefined` if the host died, no protection saw it, and no program has cleaned up yet. */
	readonly wallMs: number | undefined;
	readonly runId: string;
	/** `"host.ended"`, `"worker.ended"`, or the type of an event. */
	readonly type: string;
	/** The program and its pid. */
	readonly host: { readonly program: string | undefined; readonly pid: number };
	/** In words. */
	readonly text: string;
	/** The last lines of a worker's output. */
	readonly lines: readonly string[];
}

/** The incidents of a run: what went wrong, workers that ended by themselves or were killed, and the end of the host. */
export function incidentsOf(run: RunHistory): readonly RunIncident[] {
	const { runId, owner, program, programEnd } = run;
	const entries = historyEntries(run).filter(
		({ tone }) => tone === "bad" || tone === "warn",
	);
	const { tone } = runEnd(run);
	const host = { program: program?.name, pid: owner.pid };
	const { code, signal, error, detail, at } = programEnd ?? {};
	const ofHost: RunIncident = {
		// The recorded end may be the time of the clean-up, long after it died.
		wallMs: endSeen(run),
		...{ runId, type: "host.ended", host, text: endText(run), lines: [] },
		...{ reason: programEnd?.how, code, error, detail, at },
		signal: programEnd?.how === "signal" ? signal?.name : undefined,
	};
	return [
		...entries.map(({ wallMs, text, lines, facts }) => ({
			...{ wallMs, runId, type: facts.type, host },
			text: oneLine(text),
			lines: withoutBlankStart(lines.map(oneLine)),
			...facts,
		})),
		...(tone === "bad" ? [ofHost] : []),
	];
}

/** How a run ended, or that it is still running. */
function endText(run: RunHistory): string {
	const { word, detail } = runEnd(run);
	return detail === undefined ? word : `${word}. ${detail}`;
}

function oneLine(text: string): string {
	return plainText(text).replaceAll("\n", " ");
}

/** The last lines of a longer text may begin with an empty line. */
function withoutBlankStart(lines: readonly string[]): readonly string[] {
	const first = lines.findIndex((line) => line.trim() !== "");
	return first < 0 ? [] : lines.slice(first);
}

const MOST = 50;

type Shown = Pick<RunIncident, "wallMs" | "runId" | "text" | "lines">;

/**
 * The first 50 incidents as text, one row each: those that are alike and follow each other are one.
 *
 * @param withOutput the last lines of each worker's output follow its row; otherwise the row contains only the last
 * line.
 * @param columns of the terminal; 0 elsewhere: no line is broken.
 * @param rows `"every"`: all incidents, each in a row of its own.
 */
export function incidentLines(
	incidents: readonly Shown[],
	withOutput: boolean,
	columns: number,
	rows: "folded" | "every",
): readonly string[] {
	if (incidents.length === 0)
		return ["No worker and no host ended unexpectedly."];
	const all: readonly FoldedRow<Shown>[] =
		rows === "every"
			? incidents.map((last) => ({ last, all: [last] }))
			: foldedRows(
					incidents,
					({ runId, text, lines }) =>
						`${runId} ${alikeText(withLastLine(text, lines))}`,
				);
	const shown = rows === "every" ? all : all.slice(0, MOST);
	const [titles = "", ...begins] = table([
		["TIME", "RUN", "WHAT"],
		...shown.map(({ last: { wallMs, runId } }) => [
			wallMs === undefined ? "unknown" : dayAndTime(wallMs),
			...[runId, "."],
		]),
	]);
	const indent = titles.length - "WHAT".length;
	const older = all.slice(shown.length).flatMap((row) => row.all).length;
	const isFolded = shown.some((row) => row.all.length > 1);
	return [
		titles,
		...shown.flatMap((row, index) => [
			...folded(
				(begins[index] ?? "").slice(0, -1) + rowText(row, withOutput),
				columns,
				indent,
			),
			...(withOutput
				? outputOf(row.last).flatMap((line) => folded(line, columns))
				: []),
		]),
		...(older > 0
			? folded(
					`${counted(older, "older incident")} ${older === 1 ? "is" : "are"} not shown. All of them: snakepit incidents --all`,
					columns,
				)
			: isFolded
				? folded("Each in a row of its own: snakepit incidents --all", columns)
				: []),
	];
}

function rowText({ last, all }: FoldedRow<Shown>, withOutput: boolean): string {
	const { wallMs, text, lines } = last;
	const row = withOutput ? text : withLastLine(text, lines);
	if (all.length === 1) return row;
	const firstMs = all.at(-1)?.wallMs;
	return `${row} ${
		wallMs === undefined || firstMs === undefined
			? `(${counted(all.length, "time")})`
			: timesText(all.length, firstMs, wallMs)
	}`;
}

/** With the line that tells most, unless the text says it already. */
function withLastLine(text: string, lines: readonly string[]): string {
	const line = tellingLine(lines);
	if (line === undefined || text.includes(line)) return text;
	// Of a worker that hung, it is the place in which its tool stood.
	return `${text}; ${line.startsWith("at ") ? line : `last line: ${line}`}`;
}

function outputOf({ lines }: Shown): readonly string[] {
	return foldedFrames(lines).map((line) => `    ${line}`);
}
